// A runner that speaks the codec and misbehaves as its "model path" tells it to, for the tests of the
// supervisor.
#include "engine/protocol/codec.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace engine;

namespace {

constexpr int channel = 3;

void writeAll(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(channel, bytes.data(), bytes.size());
        if (written <= 0)
            std::_Exit(9); // the front has gone
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void send(const RunnerMessage &message)
{
    writeAll(encodeFrame(message).value());
}

[[noreturn]] void abortLikeGgml()
{
    std::fputs("some earlier line\n/src/ggml.c:77: GGML_ASSERT(n_tokens <= n_batch) failed\nand a last one\n",
               stderr);
    std::abort();
}

[[noreturn]] void sleepForEver()
{
    for (;;)
        ::pause();
}

class FakeRunner
{
public:
    int run()
    {
        FrameReader reader;
        std::string buffer(65536, '\0');
        for (;;) {
            const ssize_t size = ::read(channel, buffer.data(), buffer.size());
            if (size <= 0)
                return 0;
            reader.append({buffer.data(), static_cast<std::size_t>(size)});
            for (auto body = reader.next().value(); body; body = reader.next().value()) {
                const auto message = decodeFrontMessage(*body).value();
                if (std::holds_alternative<Shutdown>(message) && m_behaviour != "deaf to shutdown")
                    return 0;
                std::visit([this](const auto &value) { handle(value); }, message);
            }
        }
    }

private:
    std::string m_behaviour;
    RunnerStats m_stats;

    void handle(const RunnerOptions &options)
    {
        m_behaviour = options.modelPath;
        send(LoadProgress{0.25});
        if (m_behaviour == "fatal while loading") {
            send(Fatal{{cluster::ErrorCode::InvalidArgument, "the model's tensors hold NaN"}});
            std::exit(1);
        }
        if (m_behaviour == "abort while loading")
            abortLikeGgml();
        if (m_behaviour == "exit while loading")
            std::exit(3);
        if (m_behaviour == "silent while loading")
            sleepForEver();
        if (m_behaviour == "garbage while loading") {
            writeAll("HTTP/1.1 200 OK\r\n\r\n");
            sleepForEver();
        }
        if (m_behaviour == "slow load") {
            for (int i = 0; i < 20; ++i) {
                ::usleep(20'000);
                send(LoadProgress{0.25 + i * 0.03});
            }
        }
        ModelFacts facts;
        facts.architecture = "fake";
        facts.maxModelLen = 128;
        facts.device = std::string(std::getenv("OMP_WAIT_POLICY")) + "," + std::getenv("GGML_NO_BACKTRACE");
        send(facts);
    }

    void event(RequestId id, std::string text, bool last)
    {
        GenerationEvent event;
        event.id = id;
        event.text = std::move(text);
        if (last)
            event.finish = Finish{};
        send(event);
    }

    void handle(const GenerateRequest &request)
    {
        event(request.id, "one", false);
        m_stats.running = 1;
        ++m_stats.prefixQueries;
        m_stats.stepTokens = {1};
        send(m_stats);
        if (m_behaviour == "abort while generating")
            abortLikeGgml();
        if (m_behaviour == "exit while generating")
            std::exit(0);
        if (m_behaviour == "hang while generating")
            chatterForEver();
        if (m_behaviour == "garbage while generating")
            writeAll(std::string("\x03\0\0\0abc", 7));
        if (m_behaviour == "a huge frame while generating")
            writeAll("\xFF\xFF\xFF\xFF");
        if (m_behaviour == "wait for cancel")
            return;
        event(request.id, "two", true);
    }

    /// Alive, but without a step: what a decode thread that is stuck looks like from outside.
    [[noreturn]] void chatterForEver()
    {
        RunnerStats idle = m_stats;
        idle.stepTokens.clear();
        for (;;) {
            ::usleep(10'000);
            send(idle);
        }
    }

    void handle(const CancelRequest &request)
    {
        event(request.id, "after the cancel", true); // on its way when the cancel came
        m_stats.running = 0;
        m_stats.stepTokens.clear();
        send(m_stats);
    }

    void handle(const Call &call)
    {
        if (const auto *text = std::get_if<TextPromptRequest>(&call.request)) {
            if (text->text == "fail")
                send(CallReply{call.call, cluster::Error{cluster::ErrorCode::InvalidArgument, "no"}});
            else if (text->text == "wrong kind")
                send(CallReply{call.call, std::string("x")});
            else
                send(CallReply{call.call, Prompt{text->text, {1, 2}, {}}});
        } else {
            send(CallReply{call.call, std::string("reply")});
        }
    }

    void handle(const Shutdown & /*request*/) {}
};

} // namespace

int main()
{
    std::signal(SIGPIPE, SIG_IGN);
    return FakeRunner().run();
}
