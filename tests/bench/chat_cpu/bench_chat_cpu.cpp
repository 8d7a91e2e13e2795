// What a streamed answer costs: CPU of this process, in per cent of one core, while 200 tokens a second come
// for ten seconds under a history of 2,000 messages. The server is another process, so that only the window
// is measured.
#include "cluster/net/http_client.h"
#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/chat/transcript.h"
#include "tests/support/loopback_server.h"
#include "ui/pages/chat/chat_page.h"
#include "ui/theme/theme.h"
#include <QApplication>
#include <QTemporaryDir>
#include <QTimer>
#include <csignal>
#include <cstdio>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int tokensPerSecond = 200;
constexpr int warmUp = 2000; // ms
constexpr int measured = 10000; // ms
constexpr double limitPercent = 12;
constexpr int historyMessages = 2000;

const char *const prose
    = "Each chip has **31.25 GiB**, and the limit of `0.92` leaves 28.75 GiB for weights and cache. ";
const char *const code
    = "```python\ndef fit(chips, size):\n    # bytes per chip\n    return size / chips + 2 * 1024\n```\n\n";

/// Markdown as a model writes it: paragraphs, a list and code in turn, cut into pieces of about a token.
std::vector<std::string> tokens(int count)
{
    std::string text;
    for (int paragraph = 0; static_cast<int>(text.size()) < count * 5; ++paragraph) {
        for (int sentence = 0; sentence < 5; ++sentence)
            text += prose;
        text += "\n\n- one point about it\n- and *another* one\n\n";
        if (paragraph % 2 == 1)
            text += code;
    }
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size() && static_cast<int>(pieces.size()) < count; at += 5)
        pieces.push_back(text.substr(at, 5));
    return pieces;
}

std::string escaped(const std::string &text)
{
    std::string json;
    for (const char c : text)
        json += c == '\n'           ? std::string("\\n")
            : c == '"' || c == '\\' ? std::string("\\") + c
                                    : std::string(1, c);
    return json;
}

void serve(tests::Exchange &exchange)
{
    if (exchange.request().method == "GET") {
        exchange.respond(200, "application/json",
                         R"({"object":"list","data":[{"id":"bench","max_model_len":131072}]})");
        return;
    }
    exchange.beginChunked(200, "text/event-stream");
    const auto start = std::chrono::steady_clock::now();
    int sent = 0;
    for (const std::string &token : tokens(tokensPerSecond * 60)) {
        ++sent;
        const std::string event
            = R"(data: {"id":"chatcmpl-8f75b84569c179ad","object":"chat.completion.chunk","created":1796048787,"model":"bench","choices":[{"index":0,"delta":{"content":")"
            + escaped(token)
            + R"("},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":37,"completion_tokens":)"
            + std::to_string(sent) + R"(,"total_tokens":)" + std::to_string(37 + sent) + "}}\n\n";
        if (!exchange.writeChunk(event))
            return;
        std::this_thread::sleep_until(start
                                      + std::chrono::microseconds(1'000'000LL * sent / tokensPerSecond));
    }
}

/// The server's port; it ends with this process.
int startServer(pid_t &child)
{
    int port[2];
    if (pipe(port) != 0)
        return 0;
    child = fork();
    if (child == 0) {
        const tests::LoopbackServer server(serve);
        const int number = server.port();
        (void)!write(port[1], &number, sizeof number);
        pause();
        _exit(0);
    }
    int number = 0;
    (void)!read(port[0], &number, sizeof number);
    return number;
}

double cpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval &t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

QVector<models::ChatMessage> history()
{
    const auto pieces = tokens(150);
    std::string text;
    for (const std::string &piece : pieces)
        text += piece;
    QVector<models::ChatMessage> messages(historyMessages);
    for (int i = 0; i < historyMessages; ++i) {
        messages[i].id = i + 1;
        messages[i].role = i % 2 == 0 ? models::ChatRole::User : models::ChatRole::Assistant;
        messages[i].content = QString::fromStdString(i % 2 == 0 ? text.substr(0, 120) : text);
        messages[i].model = QStringLiteral("bench");
        messages[i].created = QDateTime::currentDateTime();
    }
    return messages;
}

} // namespace

int main(int argc, char **argv)
{
    pid_t child = 0;
    const int port = startServer(child); // Before any thread exists.
    QApplication app(argc, argv);
    ui::Theme theme;
    theme.applyToApplication();
    const QTemporaryDir dir;
    models::JobRunner jobs;
    cluster::HttpClient http;
    models::ChatLibrary library(dir.filePath(QStringLiteral("chats.db")));
    library.open();
    models::ChatController chat(jobs, http, library);
    ui::ChatPage page(chat, theme);
    page.resize(1000, 800);
    page.show();
    chat.transcript()->setMessages(history());
    chat.setEndpoint({QStringLiteral("bench"), QStringLiteral("http://127.0.0.1:%1").arg(port), {}});

    double begin = 0;
    qint64 tokensBegin = 0;
    std::chrono::steady_clock::time_point started;
    QObject::connect(&chat, &models::ChatController::modelChanged, &app, [&] {
        chat.send(QStringLiteral("Go"));
        QTimer::singleShot(warmUp, &app, [&] {
            begin = cpuSeconds();
            tokensBegin = chat.rate().tokens();
            started = std::chrono::steady_clock::now();
            QTimer::singleShot(measured, &app, &QApplication::quit);
        });
    });
    QTimer::singleShot(warmUp + measured + 20000, &app, [] { QApplication::exit(1); });
    const int failed = QApplication::exec();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const double percent = 100 * (cpuSeconds() - begin) / wall;
    const double rate = static_cast<double>(chat.rate().tokens() - tokensBegin) / wall;
    kill(child, SIGKILL);
    if (failed != 0 || rate < tokensPerSecond * 0.9) {
        std::fprintf(stderr, "bench_chat_cpu: only %.0f of %d tokens/s came; the machine is too busy.\n",
                     rate, tokensPerSecond);
        return 1;
    }
    std::printf("chat.cpu_at_200tps ours=%.1f limit=%.0f ratio=%.2f\n", percent, limitPercent,
                limitPercent / percent);
    return 0;
}
