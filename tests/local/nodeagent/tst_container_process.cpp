// Containers' processes as they are started, ended and written down, and probes of them.

#include "cluster/local/nodeagent/container_log.h"
#include "cluster/local/nodeagent/launched_process.h"
#include "cluster/local/nodeagent/probe_runner.h"
#include "cluster/local/nodeagent/process_usage.h"

#include <QTemporaryDir>
#include <QTest>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cluster;
using namespace cluster::local;
namespace asio = boost::asio;

namespace {

const char *const initProgram = SLIPWAY_BIN_DIR "/slipway-pod-init";

/// What came out of a process that has ended.
struct Outcome
{
    std::string out, err;
    LaunchEnd end;
};

LaunchSpec shell(const std::string &script)
{
    LaunchSpec spec;
    spec.arguments = {"sh", "-c", script};
    spec.environment = {"PATH=/usr/bin:/bin"};
    return spec;
}

/// Runs it to its end; `onStarted` may do something to it.
Outcome run(LaunchSpec spec, const std::function<void(LaunchedProcess &)> &onOutput = {})
{
    asio::io_context io;
    Outcome outcome;
    std::shared_ptr<LaunchedProcess> process;
    LaunchHandlers handlers;
    handlers.onOutput = [&](OutputStream stream, std::string_view text) {
        (stream == OutputStream::Err ? outcome.err : outcome.out).append(text);
        if (onOutput)
            onOutput(*process);
    };
    handlers.onEnd = [&](const LaunchEnd &end) { outcome.end = end; };
    auto launched = LaunchedProcess::launch(io, initProgram, std::move(spec), {}, handlers);
    if (!launched)
        qFatal("%s", launched.error().message.c_str());
    process = *launched;
    io.run();
    return outcome;
}

LogOptions tail(std::int64_t lines)
{
    LogOptions options;
    options.tailLines = lines;
    return options;
}

std::string text(const std::shared_ptr<ContainerLog> &log, const LogOptions &options = {})
{
    const auto reader = readLog(log, options);
    std::string all;
    while (!reader->atEnd())
        all += *reader->read(1000);
    return all;
}

const Time t0 = *parseTime("2026-11-30T12:00:00Z");

} // namespace

class TestContainerProcess : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        m_isolation = probeIsolation(initProgram, m_folder.path().toStdString());
    }

    void bothStreamsAndTheExitCodeArrive()
    {
        const Outcome outcome = run(shell("echo out; echo err >&2; exit 7"));
        QCOMPARE(outcome.out, std::string("out\n"));
        QCOMPARE(outcome.err, std::string("err\n"));
        QCOMPARE(outcome.end.exitCode, 7);
        QCOMPARE(outcome.end.signal, 0);
    }

    void aSignalIsItsNumberPlus128()
    {
        QCOMPARE(run(shell("kill -9 $$")).end.exitCode, 137);
        QCOMPARE(run(shell("echo up; exec sleep 1000"), [](LaunchedProcess &process) { process.kill(); })
                     .end.exitCode,
                 137);
        QCOMPARE(
            run(shell("echo up; exec sleep 1000"), [](LaunchedProcess &process) { process.signal(SIGTERM); })
                .end.exitCode,
            143);
    }

    void whatCannotBeStartedSaysWhy()
    {
        LaunchSpec spec = shell("");
        spec.arguments = {"nosuchprogram"};
        QCOMPARE(run(spec).end.startError,
                 std::string("exec: \"nosuchprogram\": executable file not found in $PATH"));
        spec = shell("true");
        spec.workingFolder = "/nosuchfolder";
        QVERIFY(run(spec).end.startError.find("/nosuchfolder") != std::string::npos);
    }

    void onlyTheGivenVariablesAreThere()
    {
        LaunchSpec spec = shell("env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort");
        spec.environment.emplace_back("A=b c");
        QCOMPARE(run(spec).out, std::string("A=b c\nPATH=/usr/bin:/bin\n"));
    }

    void nothingOutlivesItsContainer_data()
    {
        QTest::addColumn<bool>("isolated");
        QTest::newRow("alone") << false;
        QTest::newRow("PID namespace") << true;
    }

    void nothingOutlivesItsContainer()
    {
        QFETCH(bool, isolated);
        if (isolated && !m_isolation.processes)
            QSKIP("this machine forbids PID namespaces to this user");
        const std::string mark = "left-" + std::to_string(::getpid()) + (isolated ? "-i" : "-a");
        LaunchSpec spec = shell("for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; "
                                "done' &); done; exit 0");
        spec.environment.push_back("MARK=" + mark);
        spec.ownProcesses = isolated;
        QCOMPARE(run(spec).end.exitCode, 0);
        QTRY_VERIFY(processesWith("MARK", mark.c_str()).empty());
    }

    void containersDieWithTheirAgent()
    {
        // The agent is a process of its own here, so that it can be killed.
        const std::string mark = "orphan-" + std::to_string(::getpid());
        const pid_t agent = ::fork();
        if (agent == 0) {
            asio::io_context io;
            LaunchSpec spec = shell("sleep 1000");
            spec.environment.push_back("MARK=" + mark);
            spec.ownProcesses = m_isolation.processes;
            const auto process = LaunchedProcess::launch(io, initProgram, spec, {}, {});
            io.run();
            ::_exit(0);
        }
        QTRY_VERIFY(!processesWith("MARK", mark.c_str()).empty());
        ::kill(agent, SIGKILL);
        ::waitpid(agent, nullptr, 0);
        QTRY_VERIFY(processesWith("MARK", mark.c_str()).empty());
    }

    void foldersAreSeenAtTheirPlaceAndNowhereElse()
    {
        if (!m_isolation.mounts)
            QSKIP("this machine forbids mount namespaces to this user");
        const std::string folder = m_folder.path().toStdString();
        std::ofstream(folder + "/file") << "inside\n";
        LaunchSpec spec = shell("cat /data/deep/file /etc/slipway-test/file; echo x > "
                                "/etc/slipway-test/file; ls -d /etc/hostname");
        spec.ownMounts = true;
        spec.rootFolder = folder + "/root";
        QVERIFY(QDir().mkpath(QString::fromStdString(spec.rootFolder)));
        spec.mounts = {{folder, "/data/deep", false}, {folder, "/etc/slipway-test", true}};
        const Outcome outcome = run(spec);
        QCOMPARE(outcome.end.startError, std::string());
        QCOMPARE(outcome.out, std::string("inside\ninside\n/etc/hostname\n"));
        QVERIFY2(outcome.err.find("Read-only") != std::string::npos, outcome.err.c_str());
        QVERIFY(!QDir("/data/deep").exists());
        QVERIFY(!QDir("/etc/slipway-test").exists());
    }

    void logLinesHaveTimeStreamAndTag()
    {
        const auto log = std::make_shared<ContainerLog>(m_folder.filePath("a/log").toStdString());
        log->append(OutputStream::Out, "one\ntw", t0);
        log->append(OutputStream::Err, "bad\n", t0);
        log->append(OutputStream::Out, "o\nrest", t0);
        log->close();
        std::ifstream file(log->file());
        std::string line;
        std::getline(file, line);
        QCOMPARE(line, std::string("2026-11-30T12:00:00.000000000Z stdout F one"));
        QCOMPARE(text(log), std::string("one\nbad\ntwo\nrest\n"));
        LogOptions options;
        options.stream = "Stderr";
        options.timestamps = true;
        QCOMPARE(text(log, options), std::string("2026-11-30T12:00:00.000000000Z bad\n"));
    }

    void tailSinceAndLimitCutTheLog()
    {
        const auto log = std::make_shared<ContainerLog>(m_folder.filePath("b/log").toStdString());
        for (int i = 0; i < 100; ++i)
            log->append(OutputStream::Out, std::to_string(i) + "\n", t0 + std::chrono::seconds(i));
        log->close();
        QCOMPARE(text(log, tail(2)), std::string("98\n99\n"));
        QCOMPARE(text(log, tail(0)), std::string());
        QCOMPARE(text(log, tail(1000)).size(), std::size_t{290});
        LogOptions options;
        options.since = t0 + std::chrono::seconds(98);
        QCOMPARE(text(log, options), std::string("98\n99\n"));
        options = {};
        options.limitBytes = 5;
        QCOMPARE(text(log, options), std::string("0\n1\n2"));
    }

    void aLongLineIsOneLineAgain()
    {
        const auto log = std::make_shared<ContainerLog>(m_folder.filePath("c/log").toStdString());
        const std::string line(50000, 'x');
        log->append(OutputStream::Out, line + "\n", t0);
        log->close();
        QCOMPARE(text(log), line + "\n");
    }

    void oldFilesGoAndTheRestIsReadThrough()
    {
        const auto log
            = std::make_shared<ContainerLog>(m_folder.filePath("d/log").toStdString(), LogLimits{1000, 3});
        const auto follower = readLog(log, [] {
            LogOptions options;
            options.follow = true;
            return options;
        }());
        std::string followed;
        int wakes = 0;
        for (int i = 0; i < 300; ++i) {
            log->append(OutputStream::Out, "line " + std::to_string(i) + "\n", t0);
            if (i % 10 == 0)
                followed += *follower->read(100000);
        }
        follower->whenMore([&] { ++wakes; });
        log->append(OutputStream::Out, "last\n", t0);
        QVERIFY(wakes == 1);
        log->close();
        while (!follower->atEnd())
            followed += *follower->read(100000);
        QVERIFY(followed.starts_with("line 0\n"));
        QVERIFY(followed.ends_with("line 299\nlast\n"));
        QCOMPARE(std::count(followed.begin(), followed.end(), '\n'), 301);
        const std::string kept = text(log);
        const auto later = std::make_shared<ContainerLog>(log->file()); // of the next agent
        later->close();
        QCOMPARE(text(later), kept);
        QVERIFY(kept.size() < followed.size());
        QVERIFY(followed.ends_with(kept));
        QCOMPARE(text(log, tail(40)).size(), std::size_t{39 * 9 + 5});
    }

    void probesTellByThresholds()
    {
        ProbeSpec spec;
        spec.failureThreshold = 3;
        spec.successThreshold = 2;
        ProbeTally tally(spec, false);
        QVERIFY(!tally.add(true));
        QVERIFY(tally.add(true));
        QVERIFY(tally.verdict());
        QVERIFY(!tally.add(false));
        QVERIFY(!tally.add(false));
        QVERIFY(tally.verdict());
        QVERIFY(tally.add(false));
        QVERIFY(!tally.verdict());
    }

    void httpProbesAreWordedAsKubeletDoes()
    {
        asio::io_context io;
        asio::ip::tcp::acceptor server(io, {asio::ip::make_address("127.0.0.1"), 0});
        const int port = server.local_endpoint().port();
        std::string answer = "HTTP/1.1 204 No Content\r\n\r\n";
        std::thread thread([&] {
            for (int i = 0; i < 2; ++i) {
                asio::ip::tcp::socket client(io);
                server.accept(client);
                char buffer[1000];
                client.read_some(asio::buffer(buffer));
                client.send(asio::buffer(answer));
                answer = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
            }
            server.close();
        });
        const auto probe = [&](std::chrono::milliseconds timeout) {
            ProbeAction action;
            action.kind = ProbeAction::Kind::HttpGet;
            action.port = "web";
            action.path = "/ready";
            ProbeResult result;
            bool isDone = false;
            const auto handle = runProbe(io, action, {"10.0.0.1", "127.0.0.1", {{"web", port}}, {}}, timeout,
                                         [&](ProbeResult told) {
                                             result = std::move(told);
                                             isDone = true;
                                         });
            while (!isDone)
                io.run_one();
            io.restart();
            return result;
        };
        QVERIFY(probe(std::chrono::seconds(30)).isSuccess);
        QCOMPARE(probe(std::chrono::seconds(30)).message,
                 std::string("HTTP probe failed with statuscode: 503"));
        thread.join();
        const std::string refused = probe(std::chrono::seconds(30)).message;
        const std::string address = "10.0.0.1:" + std::to_string(port);
        QCOMPARE(refused,
                 "Get \"http://" + address + "/ready\": dial tcp " + address
                     + ": connect: connection refused");
    }

private:
    QTemporaryDir m_folder;
    Isolation m_isolation;
};

QTEST_GUILESS_MAIN(TestContainerProcess)
#include "tst_container_process.moc"
