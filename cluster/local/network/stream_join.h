#pragma once

#include "cluster/httpd/byte_stream.h"
#include <functional>
#include <memory>

namespace cluster::local {

/// Two streams joined end to end: what comes out of one goes into the other, at most 64 KiB a direction in
/// between, so that a slow reader slows the writer. An end of one direction is passed on and the other goes
/// on; both ended, or a stream broke: both are closed. Keeps itself alive until then.
class StreamJoin : public std::enable_shared_from_this<StreamJoin>
{
public:
    /// `ended` is called once, on the streams' thread.
    static std::weak_ptr<StreamJoin> start(std::unique_ptr<ByteStream> left,
                                           std::unique_ptr<ByteStream> right, std::function<void()> ended);

    void close(); ///< Cuts both; `ended` is called from inside.

private:
    struct Direction
    {
        ByteStream *from = nullptr;
        ByteStream *to = nullptr;
        std::string buffer;
        bool isEnded = false;
    };

    StreamJoin(std::unique_ptr<ByteStream> left, std::unique_ptr<ByteStream> right,
               std::function<void()> ended);
    void pump(Direction &direction);
    void endOf(Direction &direction);

    std::unique_ptr<ByteStream> m_left;
    std::unique_ptr<ByteStream> m_right;
    std::function<void()> m_ended;
    Direction m_leftToRight;
    Direction m_rightToLeft;
    bool m_isClosed = false;
};

} // namespace cluster::local
