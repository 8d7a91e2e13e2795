// Sends streamed completions to an OpenAI-like server on loopback and prints, as one JSON object, what came
// back when. A program of its own, in C++, so that the load costs the measured server as little of the two
// cores as it can.
//
//   bench_http_load PORT <plan.json
//   plan: [{"at": seconds from the start, "group": "short", "body": {... /v1/completions ...}}, ...]
//   out:  {"wall": s, "requests": [{"group", "ok", "error", "ttft", "end", "tokens"}, ...]}   (seconds from
//   each send)

#include <boost/asio.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

namespace {

double secondsSince(Clock::time_point from)
{
    return std::chrono::duration<double>(Clock::now() - from).count();
}

struct Outcome
{
    std::string group;
    std::string error;
    double ttft = -1;
    double end = -1;
    int tokens = -1;
};

/// Takes the events out of a chunked reply. The chunk framing is skipped by only looking at whole lines that
/// start with "data: ", which neither server splits over two chunks.
void readEvent(const std::string &line, Clock::time_point sent, Outcome &outcome)
{
    if (line.rfind("data: {", 0) != 0)
        return;
    const json event = json::parse(line.substr(6), nullptr, false);
    if (event.is_discarded())
        return;
    if (event.contains("error"))
        outcome.error = event["error"].dump();
    const auto choices = event.find("choices");
    if (outcome.ttft < 0 && choices != event.end() && !choices->empty()
        && !(*choices)[0].value("text", "").empty())
        outcome.ttft = secondsSince(sent);
    const auto usage = event.find("usage");
    if (usage != event.end() && usage->is_object())
        outcome.tokens = usage->value("completion_tokens", -1);
}

asio::awaitable<void> request(tcp::endpoint server, double at, std::string body, Clock::time_point start,
                              Outcome &outcome)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(
        executor, start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at)));
    co_await timer.async_wait(asio::use_awaitable);
    const auto sent = Clock::now();
    try {
        tcp::socket socket(executor);
        co_await socket.async_connect(server, asio::use_awaitable);
        const std::string head
            = "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
              "Connection: close\r\nContent-Length: "
            + std::to_string(body.size()) + "\r\n\r\n";
        co_await asio::async_write(socket, asio::buffer(head + body), asio::use_awaitable);
        std::string buffer;
        bool first = true;
        for (;;) {
            boost::system::error_code ended;
            const auto size = co_await asio::async_read_until(
                socket, asio::dynamic_buffer(buffer), '\n', asio::redirect_error(asio::use_awaitable, ended));
            if (size == 0)
                break;
            const std::string line = buffer.substr(0, size);
            buffer.erase(0, size);
            if (first && line.find(" 200") == std::string::npos)
                outcome.error = line;
            first = false;
            readEvent(line, sent, outcome);
        }
    } catch (const std::exception &failure) {
        outcome.error = failure.what();
    }
    outcome.end = secondsSince(sent);
    if (outcome.error.empty() && outcome.tokens < 0)
        outcome.error = "no usage in the reply";
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::cerr << "usage: bench_http_load PORT <plan.json\n";
        return 2;
    }
    const json plan = json::parse(std::cin);
    asio::io_context io(1);
    const tcp::endpoint server(asio::ip::make_address("127.0.0.1"),
                               static_cast<unsigned short>(std::stoi(argv[1])));
    std::vector<Outcome> outcomes(plan.size());
    const auto start = Clock::now();
    for (std::size_t i = 0; i < plan.size(); ++i) {
        outcomes[i].group = plan[i].value("group", "");
        asio::co_spawn(io,
                       request(server, plan[i].value("at", 0.0), plan[i]["body"].dump(), start, outcomes[i]),
                       asio::detached);
    }
    io.run();
    json out = {{"wall", secondsSince(start)}, {"requests", json::array()}};
    for (const Outcome &o : outcomes)
        out["requests"].push_back({{"group", o.group},
                                   {"ok", o.error.empty()},
                                   {"error", o.error},
                                   {"ttft", o.ttft},
                                   {"end", o.end},
                                   {"tokens", o.tokens}});
    std::cout << out.dump() << '\n';
}
