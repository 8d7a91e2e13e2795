#include "engine/runner/runner.h"

#include "engine/runner/decode_loop.h"
#include "engine/runner/frame_channel.h"
#include "engine/runner/runner_service.h"
#include "engine/runtime/library_log.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

constexpr int exitFatal = 1;
constexpr int exitProtocol = 2;
constexpr double progressStep = 0.05;

cluster::Result<std::optional<FrontMessage>> firstMessage(FrameChannel &channel)
{
    while (true) {
        auto message = channel.next();
        if (!message || *message)
            return message;
        if (channel.wait(-1) == FrameChannel::Wake::Closed)
            return std::nullopt;
    }
}

enum class Outcome { Served, Ended, Broken };

Outcome handleAll(FrameChannel &channel, RunnerService &service)
{
    while (true) {
        auto message = channel.next();
        if (!message)
            return Outcome::Broken;
        if (!*message)
            return Outcome::Served;
        if (!service.handle(std::move(**message)))
            return Outcome::Ended;
    }
}

int serve(FrameChannel &channel, Outbox &outbox, RunnerService &service)
{
    while (true) {
        // Before any waiting: the front may have asked while the model was being loaded.
        if (const Outcome outcome = handleAll(channel, service); outcome != Outcome::Served)
            return outcome == Outcome::Ended ? 0 : exitProtocol;
        const FrameChannel::Wake wake = channel.wait(outbox.wakeDescriptor());
        if (wake == FrameChannel::Wake::Closed)
            return 0;
        if (wake == FrameChannel::Wake::Other && !channel.send(outbox.take()))
            return 0;
    }
}

int runLoaded(FrameChannel &channel, const RunnerOptions &options)
{
    double reported = 0;
    const auto progress = [&](double fraction) {
        if (fraction < reported + progressStep && fraction < 1)
            return;
        reported = fraction;
        channel.send(LoadProgress{fraction});
    };
    const auto fatal = [&](cluster::Error error) {
        channel.send(Fatal{std::move(error)});
        return exitFatal;
    };
    auto model = LanguageModel::load(options, progress);
    if (!model)
        return fatal(model.error());
    if (const auto chat = ChatTemplate::create(**model); !chat) // each thread that needs it makes its own
        return fatal(chat.error());
    Outbox outbox;
    auto loop = DecodeLoop::start(**model, options, outbox);
    if (!loop)
        return fatal(loop.error());
    channel.send((*model)->facts());
    RunnerService service(**model, **loop, outbox, options.seed);
    const int code = serve(channel, outbox, service);
    if (!service.stop())
        std::_Exit(code); // something that never ends still uses the model
    return code;
}

} // namespace

int runRunner(int descriptor)
{
    std::signal(SIGPIPE, SIG_IGN);
    routeLibraryLog();
    FrameChannel channel(descriptor);
    auto first = firstMessage(channel);
    if (!first)
        return exitProtocol;
    if (!*first)
        return 0;
    const auto *options = std::get_if<RunnerOptions>(&**first);
    return options != nullptr ? runLoaded(channel, *options) : exitProtocol;
}

} // namespace engine
