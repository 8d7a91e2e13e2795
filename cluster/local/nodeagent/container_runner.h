#pragma once

#include "cluster/local/nodeagent/agent_context.h"
#include "cluster/local/nodeagent/container_log.h"
#include "cluster/local/nodeagent/pod_record.h"
#include "cluster/local/nodeagent/prepared_container.h"
#include "cluster/local/nodeagent/probe_runner.h"

#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// One run of a container with a process: from its start to its end, with probes, hooks and log. Threads: the
/// io_context's.
class ContainerRunner : public std::enable_shared_from_this<ContainerRunner>
{
public:
    /// What the pod is told; not after `ended`, and not after the runner was abandoned.
    struct Handlers
    {
        std::function<void()> started;
        std::function<void(bool isReady)> readyChanged;
        std::function<void()> startupPassed;
        std::function<void(EventType, const std::string &reason, const std::string &message)> event;
        std::function<void(ContainerEnd)> ended;
    };

    ContainerRunner(const AgentContext &context, std::shared_ptr<const PodSpec> pod, std::size_t container,
                    std::string podIp, std::shared_ptr<ContainerLog> log, std::string messageFile,
                    Handlers handlers);
    ~ContainerRunner();

    void launch(PreparedContainer prepared);
    /// preStop, SIGTERM, and SIGKILL when `grace` (of the pod's seconds) is over. Called again it can only
    /// shorten it.
    void stop(std::int64_t grace);
    void kill();
    void abandon(); ///< kill without telling anybody

    [[nodiscard]] bool isRunning() const { return m_process && m_pid > 0; }
    [[nodiscard]] int pid() const { return m_pid; }
    [[nodiscard]] const std::shared_ptr<ContainerLog> &log() const { return m_log; }

    /// A command beside the main process, or (with none) the main process's own files.
    Result<std::unique_ptr<ContainerProcess>> exec(const ExecOptions &options);

    /// Noted as the reason of the end that is to come.
    void noteOutOfMemory() { m_isOutOfMemory = true; }

private:
    struct ProbeLoop;
    struct Tap; ///< an attached client's pipe

    const ContainerSpec &spec() const { return m_pod->containers[m_container]; }
    void onStarted(int pid);
    void onOutput(OutputStream stream, std::string_view text);
    void onEnd(const LaunchEnd &end);
    void runPostStart();
    void runPreStop(std::int64_t grace);
    void terminate(std::int64_t grace);
    void startProbes();
    void startLoop(const std::shared_ptr<ProbeLoop> &loop, bool isFirst);
    void onProbe(const std::shared_ptr<ProbeLoop> &loop, const ProbeResult &result);
    void failProbe(ProbeLoop &loop);
    ProbeTarget probeTarget();
    ProbeTarget hookTarget();
    void runCommand(const std::vector<std::string> &command,
                    const std::function<void(const CommandEnd &)> &done);
    [[nodiscard]] std::string endMessage(const LaunchEnd &end);
    Result<std::unique_ptr<ContainerProcess>> attach(const ExecOptions &options);
    bool openTerminal(LaunchFiles &files);
    void killProcess();
    /// What starts a command in the running container.
    [[nodiscard]] LaunchSpec launchBeside(const std::vector<std::string> &command, bool hasStdin,
                                          bool hasTerminal) const;

    const AgentContext &m_context;
    std::shared_ptr<const PodSpec> m_pod;
    std::size_t m_container;
    std::string m_podIp;
    std::shared_ptr<ContainerLog> m_log;
    std::string m_messageFile;
    Handlers m_handlers;
    LaunchSpec m_launch; ///< for exec
    std::optional<PodmanContainer> m_podman;
    bool m_hasOwnLocalhost = false;
    std::shared_ptr<LaunchedProcess> m_process;
    int m_pid = 0;
    Time m_startedAt;
    bool m_isStopping = false, m_isOutOfMemory = false;
    std::int64_t m_grace = 0;
    int m_input = -1; ///< our end of its standard input, or its terminal
    struct Timers;
    std::unique_ptr<Timers> m_timers;
    std::vector<std::shared_ptr<ProbeLoop>> m_loops;
    std::shared_ptr<void> m_hook; ///< under way
    std::vector<std::weak_ptr<LaunchedProcess>> m_commands; ///< of probes, hooks and exec
    std::vector<std::shared_ptr<Tap>> m_taps;
};

} // namespace cluster::local
