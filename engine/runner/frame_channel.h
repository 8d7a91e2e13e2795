#pragma once

#include "engine/protocol/codec.h"

namespace engine {

/// The runner's end of the socket to the front. Owns the descriptor; one thread.
class FrameChannel
{
public:
    explicit FrameChannel(int descriptor) : m_descriptor(descriptor) {}
    ~FrameChannel();
    FrameChannel(const FrameChannel &) = delete;
    FrameChannel &operator=(const FrameChannel &) = delete;

    enum class Wake { Front, Other, Closed };
    /// Waits until the front has sent something or `otherDescriptor` (-1: none) can be read.
    [[nodiscard]] Wake wait(int otherDescriptor);

    /// The next whole message of what has been read; nothing if there is none yet.
    [[nodiscard]] cluster::Result<std::optional<FrontMessage>> next();

    /// Blocks until the front has taken it. False if the front is gone.
    bool send(const RunnerMessage &message);
    bool send(const std::vector<RunnerMessage> &messages);

private:
    [[nodiscard]] bool readSome();
    [[nodiscard]] bool writeAll(std::string_view bytes) const;

    int m_descriptor;
    FrameReader m_reader;
};

} // namespace engine
