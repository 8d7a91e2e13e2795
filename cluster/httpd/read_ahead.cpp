#include "cluster/httpd/read_ahead.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>

namespace cluster {

void ReadAhead::start(std::function<void()> onInput)
{
    m_onInput = std::move(onInput);
    read();
}

void ReadAhead::stop()
{
    m_onInput = nullptr;
    m_stream->close();
}

void ReadAhead::read()
{
    if (m_reading || m_error || m_input.size() >= kLimit)
        return;
    m_reading = true;
    m_stream->readSome(m_buffer.data(), m_buffer.size(),
                       [self = shared_from_this()](std::error_code error, std::size_t count) {
                           self->m_reading = false;
                           self->m_error = error;
                           self->m_input.append(self->m_buffer.data(), count);
                           const auto onInput = self->m_onInput; // it may stop us
                           if (onInput)
                               onInput();
                           self->read();
                       });
}

/// What a session leaves to those who upgraded.
class HandedStream : public ByteStream
{
public:
    explicit HandedStream(std::shared_ptr<ReadAhead> source) : m_state(std::make_shared<State>())
    {
        m_state->source = std::move(source);
        m_state->source->m_onInput = [state = m_state] { state->serve(); };
        m_state->source->read();
    }
    ~HandedStream() override { m_state->end(); }
    HandedStream(const HandedStream &) = delete;
    HandedStream &operator=(const HandedStream &) = delete;

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_state->buffer = buffer;
        m_state->size = size;
        m_state->handler = std::move(handler);
        m_state->serve();
    }
    void write(std::string data, WriteHandler handler) override
    {
        m_state->source->m_stream->write(std::move(data), std::move(handler));
    }
    void shutdownWrite() override { m_state->source->m_stream->shutdownWrite(); }
    void close() override { m_state->end(); }

private:
    struct State
    {
        std::shared_ptr<ReadAhead> source;
        char *buffer = nullptr;
        std::size_t size = 0;
        ReadHandler handler;

        void answer(std::error_code error, std::size_t count)
        {
            // Never from inside readSome: the caller may hold its own state half changed.
            boost::asio::post(source->m_executor, [handler = std::exchange(handler, nullptr), error, count] {
                handler(error, count);
            });
        }
        void serve()
        {
            if (!handler)
                return;
            std::string &input = source->m_input;
            if (!input.empty()) {
                const std::size_t count = std::min(size, input.size());
                std::memcpy(buffer, input.data(), count);
                input.erase(0, count);
                answer({}, count);
                source->read();
            } else if (source->m_error) {
                answer(source->m_error, 0);
            }
        }
        void end()
        {
            if (handler)
                answer(std::make_error_code(std::errc::operation_canceled), 0);
            source->stop();
            if (!source->m_error)
                source->m_error = std::make_error_code(std::errc::operation_canceled);
        }
    };

    std::shared_ptr<State> m_state;
};

std::unique_ptr<ByteStream> ReadAhead::handOver()
{
    return std::make_unique<HandedStream>(shared_from_this());
}

} // namespace cluster
