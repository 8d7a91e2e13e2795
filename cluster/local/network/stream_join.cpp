#include "cluster/local/network/stream_join.h"

#include <utility>

namespace cluster::local {

namespace {
constexpr std::size_t bufferSize = 64 * 1024;
}

StreamJoin::StreamJoin(std::unique_ptr<ByteStream> left, std::unique_ptr<ByteStream> right,
                       std::function<void()> ended)
    : m_left(std::move(left)), m_right(std::move(right)),
      m_ended(std::move(ended)), m_leftToRight{m_left.get(), m_right.get(), {}, false},
      m_rightToLeft{m_right.get(), m_left.get(), {}, false}
{
}

std::weak_ptr<StreamJoin> StreamJoin::start(std::unique_ptr<ByteStream> left,
                                            std::unique_ptr<ByteStream> right, std::function<void()> ended)
{
    const std::shared_ptr<StreamJoin> join(
        new StreamJoin(std::move(left), std::move(right), std::move(ended)));
    join->pump(join->m_leftToRight);
    join->pump(join->m_rightToLeft);
    return join;
}

void StreamJoin::pump(Direction &direction)
{
    direction.buffer.resize(bufferSize);
    direction.from->readSome(
        direction.buffer.data(), direction.buffer.size(),
        [self = shared_from_this(), &direction](std::error_code error, std::size_t count) {
            if (self->m_isClosed)
                return;
            if (isEnd(error)) {
                direction.to->shutdownWrite();
                self->endOf(direction);
                return;
            }
            if (error) {
                self->close();
                return;
            }
            direction.buffer.resize(count);
            direction.to->write(std::move(direction.buffer), [self, &direction](std::error_code failed) {
                if (self->m_isClosed)
                    return;
                // Nobody takes this direction any more, but an answer may still be on its way back.
                if (failed)
                    self->endOf(direction);
                else
                    self->pump(direction);
            });
        });
}

void StreamJoin::endOf(Direction &direction)
{
    direction.isEnded = true;
    if (m_leftToRight.isEnded && m_rightToLeft.isEnded)
        close();
}

void StreamJoin::close()
{
    if (std::exchange(m_isClosed, true))
        return;
    m_left->close();
    m_right->close();
    if (m_ended)
        std::exchange(m_ended, nullptr)();
}

} // namespace cluster::local
