#include "cluster/local/controlplane/process_supervisor.h"
#include "cluster/local/controlplane/rotated_log.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <csignal>
#include <mutex>

#include <sys/wait.h>
#include <unistd.h>

using namespace cluster::local;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr int patience = 20000; // ms, for conditions that are awaited

class Events
{
public:
    ProcessSupervisor::EventHandler handler()
    {
        return [this](const ProcessEvent &event) {
            const std::lock_guard lock(m_mutex);
            m_all.push_back(event);
        };
    }
    std::vector<ProcessEvent> of(ProcessEvent::Kind kind) const
    {
        const std::lock_guard lock(m_mutex);
        std::vector<ProcessEvent> found;
        for (const auto &event : m_all) {
            if (event.kind == kind)
                found.push_back(event);
        }
        return found;
    }

private:
    mutable std::mutex m_mutex;
    std::vector<ProcessEvent> m_all;
};

SupervisedProgram script(const QTemporaryDir &dir, const std::string &name, const std::string &text)
{
    SupervisedProgram program;
    program.program.name = name;
    program.program.arguments = {"/bin/sh", "-c", text};
    program.program.environment = {"PATH=/usr/bin:/bin"};
    program.program.workingFolder = dir.path().toStdString();
    program.logFile = fs::path(dir.path().toStdString()) / (name + ".log");
    return program;
}

QByteArray contentOf(const fs::path &file)
{
    QFile handle(QString::fromStdString(file.string()));
    return handle.open(QIODevice::ReadOnly) ? handle.readAll() : QByteArray();
}

bool isAlive(pid_t pid)
{
    return ::kill(pid, 0) == 0;
}

RestartBackoff quick()
{
    return {10ms, 40ms, 30s};
}

} // namespace

class TestProcessSupervisor : public QObject
{
    Q_OBJECT

private slots:
    void theWaitDoublesToItsLimitAndIsShortAgainAfterAGoodRun()
    {
        const RestartBackoff policy{250ms, 1000ms, 30s};
        QCOMPARE(nextWait(policy, 0ms, 1ms), 250ms);
        QCOMPARE(nextWait(policy, 250ms, 1ms), 500ms);
        QCOMPARE(nextWait(policy, 800ms, 1ms), 1000ms);
        QCOMPARE(nextWait(policy, 1000ms, 31s), 250ms);
    }

    void aProgramThatEndsIsStartedAgainAndReported()
    {
        const QTemporaryDir dir;
        Events events;
        ProcessSupervisor supervisor(events.handler(), quick());
        QVERIFY(supervisor.add(script(dir, "failing", "echo Error: no room left; exit 3")));
        QTRY_VERIFY_WITH_TIMEOUT(events.of(ProcessEvent::Kind::Started).size() >= 3, patience);
        const auto exited = events.of(ProcessEvent::Kind::Exited).front();
        QCOMPARE(exited.exitCode, 3);
        QVERIFY2(exited.message.find("Error: no room left") != std::string::npos, exited.message.c_str());
        const auto planned = events.of(ProcessEvent::Kind::RestartPlanned);
        QCOMPARE(planned.at(0).nextTry, 10ms);
        QCOMPARE(planned.at(1).nextTry, 20ms);
        QVERIFY(supervisor.states().front().restarts >= 2);
    }

    void aFullDiskIsCalledThat()
    {
        const QTemporaryDir dir;
        Events events;
        ProcessSupervisor supervisor(events.handler(), quick());
        QVERIFY(supervisor.add(
            script(dir, "store",
                   R"(echo '{"level":"fatal","msg":"failed to commit tx","error":"write db: no space )"
                   R"(left on device","stacktrace":"main.go:1"}'; exit 1)")));
        QTRY_VERIFY_WITH_TIMEOUT(!events.of(ProcessEvent::Kind::Exited).empty(), patience);
        const QString message = QString::fromStdString(events.of(ProcessEvent::Kind::Exited).front().message);
        QVERIFY2(message.contains("failed to commit tx: write db: no space left on device; the disk is full"),
                 qPrintable(message));
    }

    void aKilledProgramComesBackUnderAnotherPid()
    {
        const QTemporaryDir dir;
        Events events;
        ProcessSupervisor supervisor(events.handler(), quick());
        QVERIFY(supervisor.add(script(dir, "sleeper", "exec sleep 1000")));
        const auto first = static_cast<pid_t>(supervisor.states().front().pid);
        QVERIFY(first > 0);
        ::kill(first, SIGKILL);
        QTRY_COMPARE_WITH_TIMEOUT(events.of(ProcessEvent::Kind::Started).size(), std::size_t{2}, patience);
        QCOMPARE(events.of(ProcessEvent::Kind::Exited).front().signal, SIGKILL);
        const auto state = supervisor.states().front();
        QVERIFY(state.pid != first);
        QCOMPARE(state.lastExit, std::string("signal 9 (Killed)"));
    }

    void stoppingEndsTheLastStartedFirstAndLeavesNone()
    {
        const QTemporaryDir dir;
        Events events;
        ProcessSupervisor supervisor(events.handler(), quick());
        for (const char *name : {"one", "two", "three"})
            QVERIFY(supervisor.add(script(dir, name, "exec sleep 1000")));
        const auto states = supervisor.states();
        supervisor.stopAll();
        QVERIFY(supervisor.states().empty());
        for (const auto &state : states)
            QVERIFY(!isAlive(static_cast<pid_t>(state.pid)));
        const auto stopped = events.of(ProcessEvent::Kind::Stopped);
        QCOMPARE(stopped.size(), std::size_t{3});
        QCOMPARE(stopped.at(0).process, std::string("three"));
        QCOMPARE(stopped.at(2).process, std::string("one"));
        QVERIFY(events.of(ProcessEvent::Kind::RestartPlanned).empty());
    }

    void oneThatIgnoresTheRequestIsKilled()
    {
        const QTemporaryDir dir;
        Events events;
        ProcessSupervisor supervisor(events.handler(), quick());
        auto program = script(dir, "stubborn", "trap '' TERM; echo deaf; while :; do sleep 0.05; done");
        program.grace = 100ms;
        QVERIFY(supervisor.add(program));
        QTRY_VERIFY_WITH_TIMEOUT(contentOf(program.logFile).contains("deaf"), patience);
        supervisor.stopAll();
        QCOMPARE(events.of(ProcessEvent::Kind::Stopped).front().signal, SIGKILL);
    }

    void aProgramThatIsNotThereIsAnErrorAtOnce()
    {
        const QTemporaryDir dir;
        ProcessSupervisor supervisor({}, quick());
        auto program = script(dir, "absent", "");
        program.program.arguments = {"/nowhere/absent"};
        const auto added = supervisor.add(program);
        QVERIFY(!added);
        QCOMPARE(added.error().code, cluster::ErrorCode::NotFound);
        QVERIFY(supervisor.states().empty());
    }

    void nothingIsInheritedButWhatWasGiven()
    {
        const QTemporaryDir dir;
        qputenv("SLIPWAY_PLANTED_SECRET", "planted");
        ProcessSupervisor supervisor({}, quick());
        auto program = script(dir, "printer", "env; ls /proc/self/fd | wc -l; echo end; exec sleep 1000");
        QVERIFY(supervisor.add(program));
        QTRY_VERIFY_WITH_TIMEOUT(contentOf(program.logFile).contains("end"), patience);
        QVERIFY(!contentOf(program.logFile).contains("planted"));
        QVERIFY2(contentOf(program.logFile).contains("\n4\n"),
                 contentOf(program.logFile).constData()); // 0, 1, 2, ls's
    }

    void childrenDoNotOutliveAKilledParent()
    {
        const QTemporaryDir dir;
        std::array<int, 2> ends{};
        QCOMPARE(::pipe(ends.data()), 0);
        const pid_t parent = ::fork();
        if (parent == 0) {
            ProcessSupervisor supervisor({}, quick());
            const bool added = supervisor.add(script(dir, "orphan", "exec sleep 1000")).has_value();
            const auto pid = static_cast<pid_t>(added ? supervisor.states().front().pid : 0);
            [[maybe_unused]] const auto written = ::write(ends[1], &pid, sizeof pid);
            for (;;)
                ::pause();
        }
        pid_t orphan = 0;
        QCOMPARE(::read(ends[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
        QVERIFY(orphan > 0 && isAlive(orphan));
        ::kill(parent, SIGKILL);
        ::waitpid(parent, nullptr, 0);
        QTRY_VERIFY_WITH_TIMEOUT(
            !isAlive(orphan) || contentOf("/proc/" + std::to_string(orphan) + "/stat").contains(") Z "),
            patience);
        ::close(ends[0]);
        ::close(ends[1]);
    }

    void logsAreBoundedAndTheirOwnersAlone()
    {
        const QTemporaryDir dir;
        const fs::path file = fs::path(dir.path().toStdString()) / "chatty.log";
        RotatedLog log(file, 1000);
        for (int i = 0; i < 100; ++i)
            log.write("line " + std::to_string(i) + " of a program that talks a lot\n");
        QVERIFY(fs::file_size(file) <= 1000);
        QVERIFY(fs::file_size(file.string() + ".1") <= 1000);
        QVERIFY(contentOf(file).endsWith("line 99 of a program that talks a lot\n"));
        QCOMPARE(static_cast<unsigned>(fs::status(file).permissions()), 0600U);
        QVERIFY(log.tail().size() <= 4096);
    }

    void theLineThatNamesTheCauseIsTheLastWord()
    {
        QCOMPARE(lastWords("start\npanic: out of it\ngoroutine 1\n"), std::string("panic: out of it"));
        QCOMPARE(lastWords("one\ntwo"), std::string("two"));
        QCOMPARE(lastWords(""), std::string());
    }
};

QTEST_GUILESS_MAIN(TestProcessSupervisor)
#include "tst_process_supervisor.moc"
