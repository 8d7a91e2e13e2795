#include "engine/runner/frame_channel.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace engine {

FrameChannel::~FrameChannel()
{
    ::close(m_descriptor);
}

FrameChannel::Wake FrameChannel::wait(int otherDescriptor)
{
    while (true) {
        std::array<pollfd, 2> waited{pollfd{m_descriptor, POLLIN, 0}, pollfd{otherDescriptor, POLLIN, 0}};
        if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR)
            return Wake::Closed;
        if (waited[1].revents != 0)
            return Wake::Other;
        if (waited[0].revents != 0)
            return readSome() ? Wake::Front : Wake::Closed;
    }
}

bool FrameChannel::readSome()
{
    std::array<char, 65536> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
    const ssize_t count = ::read(m_descriptor, buffer.data(), buffer.size());
    if (count > 0)
        m_reader.append({buffer.data(), static_cast<std::size_t>(count)});
    return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

cluster::Result<std::optional<FrontMessage>> FrameChannel::next()
{
    auto body = m_reader.next();
    if (!body)
        return tl::unexpected(body.error());
    if (!*body)
        return std::nullopt;
    auto message = decodeFrontMessage(**body);
    if (!message)
        return tl::unexpected(message.error());
    return std::move(*message);
}

bool FrameChannel::send(const RunnerMessage &message)
{
    return send(std::vector{message});
}

bool FrameChannel::send(const std::vector<RunnerMessage> &messages)
{
    std::string bytes; // One write for all that a step has brought.
    for (const RunnerMessage &message : messages) {
        auto frame = encodeFrame(message);
        if (frame) {
            bytes += *frame;
        } else if (const auto *event = std::get_if<GenerationEvent>(&message)) {
            const RunnerMessage failure = RequestFailure{event->id, "internal", frame.error().message};
            bytes += encodeFrame(failure).value_or(std::string());
        }
    }
    return writeAll(bytes);
}

bool FrameChannel::writeAll(std::string_view bytes) const
{
    while (!bytes.empty()) {
        const ssize_t count = ::send(m_descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            pollfd writable{m_descriptor, POLLOUT, 0};
            ::poll(&writable, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

} // namespace engine
