#include "cluster/local/kubelet/stream_pump.h"

#include <memory>
#include <utility>

namespace cluster::local {

namespace {

constexpr std::size_t bufferSize = 64 * 1024;

struct Pump : std::enable_shared_from_this<Pump>
{
    std::shared_ptr<ByteStream> from;
    std::shared_ptr<ByteStream> to; // null: forgets
    std::function<void(PumpEnd)> done;
    std::string buffer;

    void next()
    {
        buffer.resize(bufferSize);
        from->readSome(buffer.data(), buffer.size(),
                       [self = shared_from_this()](std::error_code error, std::size_t count) {
                           self->wasRead(error, count);
                       });
    }

    void wasRead(std::error_code error, std::size_t count)
    {
        if (error == std::errc::operation_canceled)
            return;
        if (error) {
            if (isEnd(error) && to)
                to->shutdownWrite();
            done(isEnd(error) ? PumpEnd::SourceEnded : PumpEnd::SourceBroke);
            return;
        }
        if (!to) {
            next();
            return;
        }
        buffer.resize(count);
        to->write(std::move(buffer), [self = shared_from_this()](std::error_code failed) {
            if (failed == std::errc::operation_canceled)
                return;
            if (failed)
                self->done(PumpEnd::SinkBroke);
            else
                self->next();
        });
    }
};

} // namespace

void pumpStream(std::shared_ptr<ByteStream> from, std::shared_ptr<ByteStream> to,
                std::function<void(PumpEnd)> done)
{
    const auto pump = std::make_shared<Pump>();
    pump->from = std::move(from);
    pump->to = std::move(to);
    pump->done = std::move(done);
    pump->next();
}

void drainStream(std::shared_ptr<ByteStream> from, std::function<void(PumpEnd)> done)
{
    pumpStream(std::move(from), nullptr, std::move(done));
}

} // namespace cluster::local
