#include "cluster/local/controlplane/supervised_process.h"

#include <array>
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace cluster::local {
namespace {

std::uint64_t residentBytes(pid_t pid)
{
    std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string secondsText(std::chrono::milliseconds time)
{
    const auto tenths = time.count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

} // namespace

SupervisedProcess::SupervisedProcess(SupervisedProgram program, RestartBackoff policy,
                                     ProcessSupervisor::EventHandler onEvent)
    : m_program(std::move(program)), m_policy(policy), m_onEvent(std::move(onEvent)),
      m_log(m_program.logFile, m_program.maxLogBytes)
{
}

SupervisedProcess::~SupervisedProcess()
{
    if (m_child.pid == 0)
        return;
    ::kill(m_child.pid, SIGKILL);
    ::waitpid(m_child.pid, nullptr, 0);
    closeChild();
}

ProcessEvent SupervisedProcess::event(ProcessEvent::Kind kind, std::string message) const
{
    ProcessEvent event;
    event.process = name();
    event.kind = kind;
    event.pid = m_child.pid;
    event.message = std::move(message);
    return event;
}

Status SupervisedProcess::start(Clock::time_point now)
{
    auto started = startChild(m_program.program);
    if (!started)
        return tl::unexpected(started.error());
    m_child = *started;
    m_startedAt = now;
    m_nextStart = Clock::time_point::max();
    if (m_onEvent)
        m_onEvent(
            event(ProcessEvent::Kind::Started, name() + " runs (pid " + std::to_string(m_child.pid) + ")"));
    return {};
}

void SupervisedProcess::stop(Clock::time_point now)
{
    if (m_isStopping)
        return;
    m_isStopping = true;
    m_nextStart = Clock::time_point::max();
    if (m_child.pid == 0)
        return;
    m_killAt = now + m_program.grace;
    ::kill(m_child.pid, SIGTERM);
}

void SupervisedProcess::step(Clock::time_point now)
{
    if (m_child.pid != 0) {
        readOutput();
        noticeEnd(now);
    }
    if (m_child.pid != 0 && now >= m_killAt) {
        ::kill(-m_child.pid, SIGKILL);
        m_killAt = Clock::time_point::max();
    }
    if (m_child.pid == 0 && now >= m_nextStart) {
        ++m_restarts;
        if (const auto started = start(now); !started) {
            m_lastExit = started.error().message;
            if (m_onEvent)
                m_onEvent(event(ProcessEvent::Kind::Failed, started.error().message));
            planRestart(now, std::chrono::milliseconds{0});
        }
    }
}

void SupervisedProcess::addWatched(std::vector<pollfd> &watched) const
{
    if (m_child.pid == 0)
        return;
    watched.push_back({m_child.pidFd, POLLIN, 0});
    if (m_child.output >= 0)
        watched.push_back({m_child.output, POLLIN, 0});
}

SupervisedProcess::Clock::time_point SupervisedProcess::nextStep() const
{
    return m_child.pid != 0 ? m_killAt : m_nextStart;
}

void SupervisedProcess::readOutput()
{
    std::array<char, 16384> bytes{};
    ssize_t got = 0;
    while (m_child.output >= 0 && (got = ::read(m_child.output, bytes.data(), bytes.size())) > 0)
        m_log.write(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (got == 0 && m_child.output >= 0) { // it closed both streams; poll would wake for ever
        ::close(m_child.output);
        m_child.output = -1;
    }
}

void SupervisedProcess::noticeEnd(Clock::time_point now)
{
    int status = 0;
    if (::waitpid(m_child.pid, &status, WNOHANG) != m_child.pid)
        return;
    readOutput();
    m_lastExit = describeExit(status);
    std::string message = name() + " ended: " + m_lastExit;
    if (!m_isStopping) {
        const bool wasKilled
            = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; // then no word of it says why
        if (const std::string words = lastWords(m_log.tail()); !words.empty() && !wasKilled)
            message += "; its last words: " + words;
        if (!wasKilled && m_log.tail().find("no space left on device") != std::string::npos)
            message += "; the disk is full: it comes back by itself once there is space, and nothing "
                       "acknowledged is lost";
        message += " (log: " + m_log.file().string() + ")";
    }
    auto exited = event(m_isStopping ? ProcessEvent::Kind::Stopped : ProcessEvent::Kind::Exited, message);
    exited.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exited.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    closeChild();
    if (m_onEvent)
        m_onEvent(exited);
    if (!m_isStopping)
        planRestart(now, std::chrono::duration_cast<std::chrono::milliseconds>(now - m_startedAt));
}

void SupervisedProcess::planRestart(Clock::time_point now, std::chrono::milliseconds ran)
{
    m_lastWait = nextWait(m_policy, m_lastWait, ran);
    m_nextStart = now + m_lastWait;
    if (!m_onEvent)
        return;
    auto planned = event(ProcessEvent::Kind::RestartPlanned,
                         name() + " is started again in " + secondsText(m_lastWait));
    planned.nextTry = m_lastWait;
    m_onEvent(planned);
}

void SupervisedProcess::closeChild()
{
    ::close(m_child.pidFd);
    if (m_child.output >= 0)
        ::close(m_child.output);
    m_child = RunningChild{};
    m_killAt = Clock::time_point::max();
}

ProcessState SupervisedProcess::state() const
{
    ProcessState state;
    state.name = name();
    state.pid = m_child.pid;
    state.restarts = m_restarts;
    state.lastExit = m_lastExit;
    state.residentBytes = m_child.pid != 0 ? residentBytes(m_child.pid) : 0;
    state.logFile = m_program.logFile;
    return state;
}

} // namespace cluster::local
