#pragma once

#include "cluster/local/nodeagent/agent_context.h"
#include "cluster/local/nodeagent/container_runner.h"
#include "cluster/local/nodeagent/pod_record.h"
#include "cluster/local/nodeagent/volumes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// One pod's life: asks planPod() what to do, does it, and reports. Pods that are simulated as a whole cost a
/// few hundred bytes and no timer. Threads: the io_context's.
class PodRunner : public std::enable_shared_from_this<PodRunner>
{
public:
    /// The pod may have lived before this agent did: its status is where it goes on.
    PodRunner(AgentContext &context, PodSpec pod, bool isSimulated);
    ~PodRunner();

    void sync(); ///< does what is due
    void updateHosts(); ///< brings the containers' /etc/hosts up to date
    /// The object has changed. \param mayAct  else only noted, for a later sync()
    void update(PodSpec pod, bool mayAct = true);
    void onDeleted(); ///< the object has gone
    /// Ends it for a reason of the node's: containers get their grace, then it is Failed. Nothing where it is
    /// over or has such a reason already.
    void endFor(PodVerdict verdict);
    /// It came to a node that takes none: Failed, without having run.
    void reject(const std::string &reason, const std::string &message);
    void killSilently(); ///< its node is lost or the agent stops: nothing is reported any more
    void terminateSilently(std::int64_t graceSeconds);

    [[nodiscard]] const PodSpec &spec() const { return *m_pod; }
    [[nodiscard]] const PodRecord &record() const { return m_record; }
    [[nodiscard]] bool isSimulated() const { return m_isSimulated; }
    [[nodiscard]] bool hasProcesses() const;
    [[nodiscard]] nlohmann::json object() const; ///< with the status as it is now

    [[nodiscard]] ContainerRunner *runner(std::size_t container) const;
    /// Of the current or the previous run; NotFound with kubelet's words.
    Result<std::shared_ptr<ContainerLog>> log(std::size_t container, bool previous);

private:
    struct Process; ///< what only pods with processes have

    [[nodiscard]] std::filesystem::path folder() const;
    [[nodiscard]] Time now() const { return std::chrono::system_clock::now(); }
    void perform(const PodAction &action);
    void prepareSandbox();
    void openMetadata();
    void onPrerequisites(const Result<VolumePaths> &volumes,
                         const Result<std::vector<ClaimedDevice>> &devices);
    void useVolumes(const VolumePaths &volumes, const std::vector<ClaimedDevice> &devices);
    void retrySandbox(const char *reason, const std::string &message);
    void releaseDevices();
    void refreshVolumes();
    void start(std::size_t container);
    void startSimulated(std::size_t container);
    bool refuseImageName(std::size_t container);
    void refuseImage(std::size_t container, const std::string &why);
    void tellImage(std::size_t container);
    void joinTarget(std::size_t container, LaunchSpec &launch) const;
    void prepare(std::size_t container, const RuntimeChoice &choice);
    void onPrepared(std::size_t container, Result<PreparedContainer> prepared);
    void onStarted(std::size_t container);
    void onProcessEnded(std::size_t container, ContainerEnd end);
    void onEnded(std::size_t container, ContainerEnd end);
    void stop(std::size_t container, std::int64_t grace);
    void backOff(std::size_t container);
    void tearDown();
    void finish();
    void report();
    void armTimer(std::optional<Time> at);
    void event(std::size_t container, EventType type, const std::string &reason, const std::string &message);
    void podEvent(EventType type, const std::string &reason, const std::string &message);
    void annotate(const std::string &name, const std::string &value);
    ContainerRunner::Handlers handlersOf(std::size_t container);
    PreparationInput preparation(std::size_t container) const;
    [[nodiscard]] std::filesystem::path logFile(std::size_t container, int run) const;

    AgentContext &m_context;
    std::shared_ptr<const PodSpec> m_pod;
    PodRecord m_record;
    std::unique_ptr<Process> m_process;
    std::size_t m_reported = 0; ///< hash of the status last written
    bool m_isSimulated;
    bool m_isSilent = false;
    bool m_isGone = false; ///< the object
    bool m_wasOver = false; ///< before this agent came: its status stays as it is
    bool m_isSyncing = false, m_wantsSync = false;
    bool m_holdsDevices = false; ///< perhaps; asked when it ends
    std::uint8_t m_failedPreparations = 0; ///< of the sandbox
};

} // namespace cluster::local
