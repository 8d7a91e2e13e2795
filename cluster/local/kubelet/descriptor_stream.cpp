#include "cluster/local/kubelet/descriptor_stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <unistd.h>
#include <utility>

namespace cluster::local {

namespace {

namespace asio = boost::asio;

std::error_code descriptorError(const boost::system::error_code &error)
{
    if (!error)
        return {};
    if (error == asio::error::eof || error.value() == EIO)
        return std::make_error_code(std::errc::no_message_available);
    if (error == asio::error::operation_aborted)
        return std::make_error_code(std::errc::operation_canceled);
    return {error.value(), std::generic_category()};
}

/// The descriptor is shared with the pending operations, so that it outlives the stream until they have
/// ended.
class DescriptorStream : public ByteStream
{
public:
    DescriptorStream(const asio::any_io_executor &executor, int descriptor)
        : m_descriptor(std::make_shared<asio::posix::stream_descriptor>(executor)),
          m_isTerminal(::isatty(descriptor) == 1)
    {
        boost::system::error_code error;
        m_descriptor->assign(descriptor, error);
        if (error) // a plain file can't be waited for; all calls fail then
            ::close(descriptor);
    }
    ~DescriptorStream() override { DescriptorStream::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_descriptor->async_read_some(asio::buffer(buffer, size),
                                      [kept = m_descriptor, handler = std::move(handler)](
                                          const boost::system::error_code &error, std::size_t count) {
                                          handler(descriptorError(error), count);
                                      });
    }

    void write(std::string data, WriteHandler handler) override
    {
        auto text = std::make_shared<std::string>(std::move(data));
        asio::async_write(*m_descriptor, asio::buffer(*text),
                          [kept = m_descriptor, text,
                           handler = std::move(handler)](const boost::system::error_code &error,
                                                         std::size_t) { handler(descriptorError(error)); });
    }

    void shutdownWrite() override
    {
        if (m_isTerminal)
            write("\x04", [](std::error_code) {});
        else
            close();
    }

    void close() override
    {
        boost::system::error_code ignored;
        m_descriptor->close(ignored);
    }

private:
    std::shared_ptr<asio::posix::stream_descriptor> m_descriptor;
    bool m_isTerminal;
};

} // namespace

std::unique_ptr<ByteStream> makeDescriptorStream(const asio::any_io_executor &executor, int descriptor)
{
    return std::make_unique<DescriptorStream>(executor, descriptor);
}

} // namespace cluster::local
