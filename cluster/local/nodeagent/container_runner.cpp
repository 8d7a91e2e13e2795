#include "cluster/local/nodeagent/container_parts.h"

#include "cluster/local/nodeagent/container_session.h"
#include "cluster/local/nodeagent/ray_command.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <pty.h>
#include <sstream>
#include <unistd.h>

namespace cluster::local {

ContainerRunner::ContainerRunner(const AgentContext &context, std::shared_ptr<const PodSpec> pod,
                                 std::size_t container, std::string podIp, std::shared_ptr<ContainerLog> log,
                                 std::string messageFile, Handlers handlers)
    : m_context(context), m_pod(std::move(pod)), m_container(container), m_podIp(std::move(podIp)),
      m_log(std::move(log)), m_messageFile(std::move(messageFile)), m_handlers(std::move(handlers)),
      m_timers(std::make_unique<Timers>(context.io))
{
}

ContainerRunner::~ContainerRunner()
{
    if (m_input >= 0)
        ::close(m_input);
}

bool ContainerRunner::openTerminal(LaunchFiles &files)
{
    int master = -1, slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0)
        return false;
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    files.input = slave;
    files.output = ::fcntl(slave, F_DUPFD_CLOEXEC, 10);
    files.error = ::fcntl(slave, F_DUPFD_CLOEXEC, 10);
    files.terminal = ::fcntl(master, F_DUPFD_CLOEXEC, 10);
    m_input = master;
    return true;
}

void ContainerRunner::launch(PreparedContainer prepared)
{
    m_launch = std::move(prepared.launch);
    m_podman = std::move(prepared.podman);
    m_hasOwnLocalhost = prepared.hasOwnLocalhost;
    LaunchFiles files;
    if (spec().tty) {
        m_launch.hasTerminal = openTerminal(files);
    } else if (spec().hasStdin) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) == 0) {
            files.input = ends[0];
            m_input = ends[1];
        }
    }
    const std::weak_ptr<ContainerRunner> weak = weak_from_this();
    LaunchHandlers handlers;
    handlers.onStarted = [weak](int pid) {
        if (const auto self = weak.lock())
            self->onStarted(pid);
    };
    handlers.onOutput = [weak](OutputStream stream, std::string_view text) {
        if (const auto self = weak.lock())
            self->onOutput(stream, text);
    };
    handlers.onEnd = [weak](const LaunchEnd &end) {
        if (const auto self = weak.lock())
            self->onEnd(end);
    };
    auto process
        = LaunchedProcess::launch(m_context.io, m_context.initProgram, m_launch, files, std::move(handlers));
    m_launch.mounts.clear(); // exec joins what is there
    if (process)
        m_process = *process;
    else
        onEnd({128, 0, process.error().message});
}

void ContainerRunner::onStarted(int pid)
{
    m_pid = pid;
    m_startedAt = std::chrono::system_clock::now();
    m_handlers.started();
    if (m_isStopping) {
        terminate(m_grace);
        return;
    }
    if (spec().postStart)
        runPostStart();
    else
        startProbes();
}

void ContainerRunner::onOutput(OutputStream stream, std::string_view text)
{
    m_log->append(stream, text, std::chrono::system_clock::now());
    for (const auto &tap : m_taps) {
        if (const auto output = tap->output.lock())
            output->write(stream, text);
    }
    std::erase_if(m_taps, [](const auto &tap) { return tap->output.expired(); });
}

std::string ContainerRunner::endMessage(const LaunchEnd &end)
{
    if (!end.startError.empty())
        return "failed to start container \"" + spec().name + "\": " + end.startError;
    std::ifstream file(m_messageFile);
    std::stringstream text;
    text << file.rdbuf();
    std::string message = text.str().substr(0, 4096);
    if (message.empty() && spec().logIsMessage && end.exitCode != 0)
        message = logTail(*m_log);
    return message;
}

void ContainerRunner::onEnd(const LaunchEnd &end)
{
    const auto self = shared_from_this();
    m_timers->kill.cancel();
    m_loops.clear();
    m_hook.reset();
    for (const auto &command : m_commands) {
        if (const auto process = command.lock())
            process->kill();
    }
    m_pid = 0;
    m_log->close();
    for (const auto &tap : std::exchange(m_taps, {})) {
        if (const auto output = tap->output.lock())
            output->end(end.exitCode);
    }
    ContainerEnd told{end.exitCode,
                      end.signal,
                      end.exitCode == 0 ? "Completed" : "Error",
                      endMessage(end),
                      m_startedAt,
                      std::chrono::system_clock::now(),
                      {}};
    // kubelet tells the exit code, never the signal in it: signal is left for those that read it from code -
    // 128.
    told.signal = 0;
    if (!m_launch.cgroup.empty()) {
        m_isOutOfMemory
            = m_isOutOfMemory || (end.exitCode != 0 && CgroupTree::wasOutOfMemory(m_launch.cgroup));
        CgroupTree::remove(m_launch.cgroup);
    }
    // Podman's container has gone with its end: only its code is left.
    const bool wasKilled
        = m_podman && !m_isStopping && end.exitCode == 128 + SIGKILL && spec().memoryLimit > 0;
    if (m_isOutOfMemory || wasKilled)
        told.reason = "OOMKilled";
    if (!end.startError.empty())
        told.reason = "StartError";
    const Handlers handlers = std::exchange(m_handlers, {});
    if (handlers.ended)
        handlers.ended(std::move(told));
}

void ContainerRunner::runPostStart()
{
    m_hook = runProbe(m_context.io, *spec().postStart, hookTarget(), std::chrono::hours(24),
                      [this](ProbeResult result) {
                          if (result.isSuccess) {
                              startProbes();
                              return;
                          }
                          // Never what it said: that may be a secret.
                          m_handlers.event(EventType::Warning, "FailedPostStartHook", "PostStartHook failed");
                          m_handlers.event(EventType::Normal, "Killing", "FailedPostStartHook");
                          stop(m_pod->grace);
                      });
}

void ContainerRunner::stop(std::int64_t grace)
{
    if (m_isStopping && grace >= m_grace)
        return;
    const bool isShortened = m_isStopping;
    m_isStopping = true;
    m_grace = grace;
    m_loops.clear();
    if (m_pid == 0)
        return; // as soon as it has started
    if (isShortened || grace == 0 || !spec().preStop)
        terminate(grace);
    else
        runPreStop(grace);
}

void ContainerRunner::runPreStop(std::int64_t grace)
{
    const auto begun = std::chrono::steady_clock::now();
    const auto limit = m_context.scaled(static_cast<double>(grace));
    m_hook = runProbe(
        m_context.io, *spec().preStop, hookTarget(), limit, [this, begun, grace](ProbeResult result) {
            if (!result.isSuccess && !result.isTimeout)
                m_handlers.event(EventType::Warning, "FailedPreStopHook", "PreStopHook failed");
            const auto used = std::chrono::steady_clock::now() - begun;
            const auto seconds = std::chrono::duration<double>(used).count() * m_context.options.timeScale;
            // What the hook has taken is gone, but two seconds are left in any case, as in kubelet.
            terminate(std::max<std::int64_t>(2, grace - static_cast<std::int64_t>(seconds)));
        });
}

void ContainerRunner::terminate(std::int64_t grace)
{
    if (!m_process)
        return;
    if (grace == 0) {
        killProcess();
        return;
    }
    m_process->signal(SIGTERM);
    m_timers->kill.expires_after(m_context.scaled(static_cast<double>(grace)));
    m_timers->kill.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (!error && self)
            self->killProcess();
    });
}

void ContainerRunner::kill()
{
    m_isStopping = true;
    m_grace = 0;
    m_loops.clear();
    killProcess();
}

void ContainerRunner::killProcess()
{
    if (!m_process)
        return;
    if (!m_podman || m_pid == 0) {
        m_process->kill();
        return;
    }
    // Killing the client would leave the container: podman kills it, and the client ends with it.
    LaunchSpec launch;
    launch.arguments = podmanKill(*m_podman);
    launch.environment = m_podman->environment;
    LaunchHandlers handlers;
    handlers.onEnd = [weak = std::weak_ptr(m_process)](const LaunchEnd &end) {
        const auto client = weak.lock();
        if (client && (end.exitCode != 0 || !end.startError.empty()))
            client->kill();
    };
    const auto killer = LaunchedProcess::launch(m_context.io, m_context.initProgram, std::move(launch), {},
                                                std::move(handlers));
    if (!killer)
        m_process->kill();
}

LaunchSpec ContainerRunner::launchBeside(const std::vector<std::string> &command, bool hasStdin,
                                         bool hasTerminal) const
{
    LaunchSpec launch = m_launch;
    launch.arguments = m_hasOwnLocalhost ? withOwnLocalhost(command, localAddress(m_podIp)) : command;
    launch.joinPid = m_pid;
    launch.hasTerminal = hasTerminal;
    launch.ownMounts = launch.ownProcesses = false;
    if (m_podman) {
        launch = {};
        launch.arguments = podmanExec(*m_podman, command, hasStdin, hasTerminal);
        launch.environment = m_podman->environment;
        launch.hasTerminal = hasTerminal;
    }
    return launch;
}

void ContainerRunner::abandon()
{
    m_handlers = {};
    kill();
}

Result<std::unique_ptr<ContainerProcess>> ContainerRunner::exec(const ExecOptions &options)
{
    if (m_pid == 0)
        return fail(ErrorCode::FailedPrecondition, "container not running");
    if (options.command.empty())
        return attach(options);
    return execSession(m_context.io, m_context.initProgram,
                       launchBeside(options.command, options.hasStdin, options.tty), options);
}

Result<std::unique_ptr<ContainerProcess>> ContainerRunner::attach(const ExecOptions &options)
{
    const auto output
        = AttachedOutput::make(m_context.io, options.hasStdout, options.hasStderr && !spec().tty);
    if (!output)
        return fail(ErrorCode::Internal, "can't make a pipe for the attached client");
    const auto tap = std::make_shared<Tap>();
    tap->output = output;
    m_taps.push_back(tap);
    int input = -1;
    if (options.hasStdin && m_input >= 0) {
        // The first client's input is the container's only one: it ends with the client's.
        const bool isTheOne = spec().stdinOnce && !spec().tty;
        input = isTheOne ? std::exchange(m_input, -1) : ::fcntl(m_input, F_DUPFD_CLOEXEC, 3);
    }
    return attachSession(output, input, spec().tty);
}

} // namespace cluster::local
