#include "engine/group/greeting.h"
#include "engine/group/worker_group.h"
#include "engine/group/worker_server.h"

#include <QTest>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <csignal>

using namespace engine;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

namespace {

/// Expected to be long enough always; only a failing test waits for it.
constexpr auto patience = 20s;

WorkerServerOptions workerOptions()
{
    WorkerServerOptions options;
    options.token = "secret";
    options.build = "build-1";
    options.rpcServer = [](std::uint16_t port) {
        return ChildProgram{FAKE_RPC_SERVER, {std::to_string(port)}, {}};
    };
    return options;
}

/// One worker and whoever wants to use it, on one thread.
class Bench
{
public:
    asio::io_context context;
    std::vector<std::string> lines;
    std::unique_ptr<WorkerServer> worker;

    explicit Bench(WorkerServerOptions options = workerOptions())
    {
        options.log = [this](std::string_view line) { lines.emplace_back(line); };
        worker = std::make_unique<WorkerServer>(context, std::move(options));
        if (!worker->listen())
            qFatal("the worker can't listen");
    }

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(worker->port()); }

    template<typename Condition>
    bool waitFor(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < end) {
            if (condition())
                return true;
            context.restart();
            context.run_one_for(100ms);
        }
        return false;
    }

    [[nodiscard]] bool logged(const char *part) const
    {
        return std::any_of(lines.begin(), lines.end(),
                           [part](const std::string &line) { return line.find(part) != std::string::npos; });
    }

    /// Connects from outside our own code, in blocking calls.
    [[nodiscard]] Tcp::socket connect()
    {
        Tcp::socket socket(context);
        socket.connect({asio::ip::address_v4::loopback(), worker->port()});
        return socket;
    }
};

/// A leader's group and what became of it.
class Leader
{
public:
    explicit Leader(Bench &bench, WorkerGroupOptions options)
        : m_bench(bench), group(bench.context, std::move(options))
    {
        group.onLost([this](const std::string &reason) { lost = reason; });
    }

    static WorkerGroupOptions options(const std::vector<std::string> &workers)
    {
        WorkerGroupOptions options;
        options.workers = workers;
        options.token = "secret";
        options.build = "build-1";
        return options;
    }

    bool form()
    {
        result.reset();
        group.prepare({}, [this](const cluster::Result<RunnerOptions> &prepared) { result = prepared; });
        return m_bench.waitFor([this] { return result.has_value(); }) && result->has_value();
    }

private:
    Bench &m_bench;

public:
    std::optional<cluster::Result<RunnerOptions>> result;
    std::string lost;
    WorkerGroup group;
};

std::uint16_t portOf(const std::string &endpoint)
{
    return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

} // namespace

class GroupTest : public QObject
{
    Q_OBJECT

private slots:
    void greetingsComeThrough();
    void malformedGreetingsAreErrors_data();
    void malformedGreetingsAreErrors();
    void bytesPassFromRelayToRpcServerAndBack();
    void leadersThatMayNotAreTold_data();
    void leadersThatMayNotAreTold();
    void aSecondLeaderIsToldBusyAndGetsItsTurn();
    void foreignAndSilentConnectionsBlockNobody();
    void aWorkerThatNeverListensEndsTheGroupInTime();
    void aWorkerWithoutAnAddressIsAwaited();
    void aLostRpcServerIsNoticed_data();
    void aLostRpcServerIsNoticed();
    void aLostWorkerIsNoticed();
    void aSilentWorkerIsLostAfterTheDeadline();
    void aSilentLeaderIsGivenUp();
    void anRpcServerThatCanNotStartIsToldToTheLeader();
    void aPortInUseIsNamed();
};

void GroupTest::greetingsComeThrough()
{
    const std::string text = encode(Hello{1, "b", Hello::Role::Stream, "t\xFF", "s"});
    const auto length = greetingLength(text.substr(0, greetingHeaderBytes));
    QCOMPARE(length.value(), text.size() - greetingHeaderBytes);
    const auto hello = decodeHello(text.substr(greetingHeaderBytes));
    QVERIFY(hello.has_value());
    QVERIFY(hello->role == Hello::Role::Stream);
    QCOMPARE(hello->session, std::string("s"));
    const std::string answerText = encode(HelloAnswer{false, cluster::ErrorCode::Unauthenticated, "no", "x"});
    const auto answer = decodeHelloAnswer(answerText.substr(greetingHeaderBytes));
    QVERIFY(answer.has_value() && answer->code == cluster::ErrorCode::Unauthenticated
            && answer->message == "no");
    QVERIFY(sameSecret("abc", "abc"));
    QVERIFY(!sameSecret("abc", "abcd"));
    QVERIFY(!sameSecret("", "a"));
    QVERIFY(newSessionName() != newSessionName());
}

void GroupTest::malformedGreetingsAreErrors_data()
{
    QTest::addColumn<QByteArray>("json");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("not JSON") << QByteArray("hello");
    QTest::newRow("a list") << QByteArray("[]");
    QTest::newRow("nothing in it") << QByteArray("{}");
    QTest::newRow("wrong types") << QByteArray(
        R"({"protocol":"1","build":1,"role":[],"token":null,"session":{}})");
}

void GroupTest::malformedGreetingsAreErrors()
{
    QFETCH(QByteArray, json);
    QVERIFY(!decodeHello(json.toStdString()).has_value());
    QVERIFY(!decodeHelloAnswer(json.toStdString()).has_value());
    QVERIFY(!greetingLength("SLIPWAY1\xFF\xFF\xFF\xFF").has_value());
    QVERIFY(!greetingLength("GET / HTTP/1").has_value());
}

void GroupTest::bytesPassFromRelayToRpcServerAndBack()
{
    Bench bench;
    Leader leader(bench, Leader::options({bench.address()}));
    QVERIFY(leader.form());
    QCOMPARE(leader.result->value().rpcEndpoints.size(), std::size_t{1});
    QVERIFY(leader.result->value().rpcEndpoints[0].starts_with("127.0.0.1:"));
    for (int round = 0; round < 2; ++round) { // as ggml's client does: one connection after another
        Tcp::socket runner(bench.context);
        runner.connect({asio::ip::address_v4::loopback(), portOf(leader.result->value().rpcEndpoints[0])});
        const std::string sent(300'000, 'x');
        std::string got(sent.size(), '\0');
        bool done = false;
        asio::async_write(runner, asio::buffer(sent), [](const error_code &, std::size_t) {});
        asio::async_read(runner, asio::buffer(got),
                         [&done](const error_code &, std::size_t) { done = true; });
        QVERIFY(bench.waitFor([&done] { return done; }));
        QVERIFY(got == sent);
    }
    QVERIFY(leader.lost.empty());
    leader.group.release();
    QVERIFY(bench.waitFor([&bench] { return !bench.worker->hasLeader(); }));
    QCOMPARE(bench.worker->rpcServerPid(), -1);
    QVERIFY(leader.form()); // and again, with a fresh RPC server
}

void GroupTest::leadersThatMayNotAreTold_data()
{
    QTest::addColumn<QString>("token");
    QTest::addColumn<QString>("build");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");
    QTest::newRow("wrong token") << "guess"
                                 << "build-1" << static_cast<int>(cluster::ErrorCode::Unauthenticated)
                                 << "refused this leader: the token is wrong";
    QTest::newRow("no token") << ""
                              << "build-1" << static_cast<int>(cluster::ErrorCode::Unauthenticated)
                              << "token";
    QTest::newRow("another build") << "secret"
                                   << "build-2" << static_cast<int>(cluster::ErrorCode::FailedPrecondition)
                                   << "this worker is build build-1, the leader build-2";
    QTest::newRow("another build and wrong token: only the token is talked about")
        << "guess"
        << "build-2" << static_cast<int>(cluster::ErrorCode::Unauthenticated) << "the token is wrong";
}

void GroupTest::leadersThatMayNotAreTold()
{
    QFETCH(QString, token);
    QFETCH(QString, build);
    QFETCH(int, code);
    QFETCH(QString, message);
    Bench bench;
    auto options = Leader::options({bench.address()});
    options.token = token.toStdString();
    options.build = build.toStdString();
    Leader leader(bench, options);
    QVERIFY(!leader.form());
    QCOMPARE(static_cast<int>(leader.result->error().code), code);
    QVERIFY2(QString::fromStdString(leader.result->error().message).contains(message),
             leader.result->error().message.c_str());
    QVERIFY(QString::fromStdString(leader.result->error().message).startsWith("worker 127.0.0.1:"));
    QVERIFY(!bench.worker->hasLeader());
}

void GroupTest::aSecondLeaderIsToldBusyAndGetsItsTurn()
{
    Bench bench;
    Leader first(bench, Leader::options({bench.address()}));
    QVERIFY(first.form());
    auto shortOptions = Leader::options({bench.address()});
    shortOptions.formDeadline = 300ms;
    Leader second(bench, shortOptions);
    QVERIFY(!second.form());
    QVERIFY(second.result->error().code == cluster::ErrorCode::DeadlineExceeded);
    QVERIFY2(second.result->error().message.find("busy with another leader; waited 0.3 s")
                 != std::string::npos,
             second.result->error().message.c_str());
    first.group.release();
    Leader third(bench, Leader::options({bench.address()}));
    QVERIFY(third.form());
}

void GroupTest::foreignAndSilentConnectionsBlockNobody()
{
    auto options = workerOptions();
    options.helloDeadline = 200ms;
    Bench bench(options);
    std::vector<Tcp::socket> silent;
    for (int i = 0; i < 5; ++i)
        silent.push_back(bench.connect());
    Tcp::socket http = bench.connect();
    asio::write(http, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    Tcp::socket rpc = bench.connect();
    asio::write(rpc, asio::buffer(std::string("\x0E\x07\0\0", 4))); // like the start of ggml's own hello
    Leader leader(bench, Leader::options({bench.address()}));
    QVERIFY(leader.form());
    QVERIFY(bench.waitFor([&bench] { return bench.logged("it speaks another protocol"); }));
    QVERIFY(bench.waitFor([&bench] { return bench.logged("it was silent for too long"); }));
    char byte = 0;
    error_code closed;
    bool ended = false;
    silent[0].async_read_some(asio::buffer(&byte, 1), [&](const error_code &error, std::size_t) {
        closed = error;
        ended = true;
    });
    QVERIFY(bench.waitFor([&ended] { return ended; }));
    QVERIFY(closed);
    QVERIFY(leader.lost.empty());
}

void GroupTest::aWorkerThatNeverListensEndsTheGroupInTime()
{
    Bench bench;
    Tcp::acceptor taken(bench.context, {asio::ip::address_v4::loopback(), 0}); // listens, never speaks
    std::string nobody;
    {
        const Tcp::acceptor gone(bench.context, {asio::ip::address_v4::loopback(), 0});
        nobody = "127.0.0.1:" + std::to_string(gone.local_endpoint().port());
    }
    auto options = Leader::options({bench.address(), nobody});
    options.formDeadline = 300ms;
    Leader leader(bench, options);
    QVERIFY(!leader.form());
    QVERIFY(leader.result->error().code == cluster::ErrorCode::DeadlineExceeded);
    QVERIFY2(leader.result->error().message.find("worker " + nobody
                                                 + " does not listen (Connection refused); waited")
                 == 0,
             leader.result->error().message.c_str());
    QVERIFY(bench.waitFor([&bench] { return !bench.worker->hasLeader(); })); // the good one is free again

    auto silentOptions = Leader::options({"127.0.0.1:" + std::to_string(taken.local_endpoint().port())});
    silentOptions.formDeadline = 300ms;
    Leader silent(bench, silentOptions);
    QVERIFY(!silent.form());
    QVERIFY2(silent.result->error().message.find("was silent for too long") != std::string::npos,
             silent.result->error().message.c_str());
}

// In a cluster a worker's name comes with its pod, which may start after the leader's.
void GroupTest::aWorkerWithoutAnAddressIsAwaited()
{
    Bench bench;
    const std::string unnamed = "no..name:6379"; // refused by the resolver itself, without a name server
    auto options = Leader::options({bench.address(), unnamed});
    options.formDeadline = 300ms;
    Leader leader(bench, options);
    QVERIFY(!leader.form());
    QVERIFY(leader.result->error().code == cluster::ErrorCode::DeadlineExceeded);
    const std::string &message = leader.result->error().message;
    QVERIFY2(message.find("worker " + unnamed + " has no address") == 0
                 && message.find("; waited") != std::string::npos,
             message.c_str());
}

void GroupTest::aLostRpcServerIsNoticed_data()
{
    QTest::addColumn<int>("signal");
    QTest::addColumn<QString>("reason");
    QTest::newRow("killed") << SIGKILL << "its RPC server died (signal 9";
    QTest::newRow("stopped") << SIGSTOP << "its RPC server is stopped";
}

void GroupTest::aLostRpcServerIsNoticed()
{
    QFETCH(int, signal);
    QFETCH(QString, reason);
    Bench bench;
    Leader leader(bench, Leader::options({bench.address()}));
    QVERIFY(leader.form());
    QCOMPARE(::kill(bench.worker->rpcServerPid(), signal), 0);
    QVERIFY(bench.waitFor([&leader] { return !leader.lost.empty(); }));
    QVERIFY2(QString::fromStdString(leader.lost).contains(reason), leader.lost.c_str());
    leader.group.release();
    QVERIFY(leader.form()); // with a fresh RPC server
}

void GroupTest::aLostWorkerIsNoticed()
{
    Bench bench;
    Leader leader(bench, Leader::options({bench.address()}));
    QVERIFY(leader.form());
    bench.worker.reset();
    QVERIFY(bench.waitFor([&leader] { return !leader.lost.empty(); }));
    QVERIFY2(leader.lost.find("closed the connection") != std::string::npos, leader.lost.c_str());
}

void GroupTest::aSilentWorkerIsLostAfterTheDeadline()
{
    // A worker that takes the leader and then says nothing more, as one that was stopped.
    asio::io_context stopped;
    Tcp::acceptor acceptor(stopped, {asio::ip::address_v4::loopback(), 0});
    Bench bench;
    auto options = Leader::options({"127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())});
    options.heartbeatDeadline = 200ms;
    Leader leader(bench, options);
    leader.group.prepare(
        {}, [&leader](const cluster::Result<RunnerOptions> &prepared) { leader.result = prepared; });
    acceptor.non_blocking(true);
    Tcp::socket taken(stopped);
    QVERIFY(bench.waitFor([&] {
        error_code notYet;
        acceptor.accept(taken, notYet);
        return !notYet;
    }));
    asio::write(taken, asio::buffer(encode(HelloAnswer{true, cluster::ErrorCode::Unknown, "", "s"})));
    QVERIFY(bench.waitFor([&leader] { return leader.result.has_value(); }));
    QVERIFY(leader.result->has_value());
    QVERIFY(bench.waitFor([&leader] { return !leader.lost.empty(); }));
    QVERIFY2(leader.lost.find("did not answer for 0.2 s") != std::string::npos, leader.lost.c_str());
}

void GroupTest::aSilentLeaderIsGivenUp()
{
    auto options = workerOptions();
    options.leaderDeadline = 200ms;
    Bench bench(options);
    Tcp::socket leader = bench.connect();
    asio::write(leader,
                asio::buffer(encode(Hello{groupProtocol, "build-1", Hello::Role::Control, "secret", ""})));
    QVERIFY(bench.waitFor([&bench] { return bench.worker->rpcServerPid() > 0; }));
    QVERIFY(bench.waitFor([&bench] { return bench.logged("was silent for too long"); }));
    QVERIFY(bench.waitFor([&bench] { return !bench.worker->hasLeader(); }));
    Leader next(bench, Leader::options({bench.address()}));
    QVERIFY(next.form());
}

void GroupTest::anRpcServerThatCanNotStartIsToldToTheLeader()
{
    auto options = workerOptions();
    options.rpcServer = [](std::uint16_t) { return ChildProgram{FAKE_RPC_SERVER, {"fail"}, {}}; };
    Bench bench(options);
    auto leaderOptions = Leader::options({bench.address()});
    leaderOptions.formDeadline = 300ms;
    Leader leader(bench, leaderOptions);
    QVERIFY(!leader.form());
    QVERIFY2(leader.result->error().message.find("RPC server ended (exit code 4") != std::string::npos,
             leader.result->error().message.c_str());
}

void GroupTest::aPortInUseIsNamed()
{
    Bench bench;
    auto options = workerOptions();
    options.port = bench.worker->port();
    WorkerServer second(bench.context, options);
    const auto status = second.listen();
    QVERIFY(!status.has_value());
    QVERIFY(status.error().code == cluster::ErrorCode::AlreadyExists);
    QVERIFY(status.error().message.find(bench.address() + ": the port is in use") != std::string::npos);
}

QTEST_APPLESS_MAIN(GroupTest)
#include "tst_group.moc"
