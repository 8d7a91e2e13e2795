#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// Who a bearer token stands for, as kube-apiserver's --token-auth-file says it.
struct ControlPlaneToken
{
    std::string token;
    std::string user;
    std::vector<std::string> groups; ///< system:masters may do everything
};

struct ControlPlaneOptions
{
    std::string name; ///< of the cluster, for messages and certificates
    std::filesystem::path dir; ///< of this cluster alone; etcd, pki, logs and the state file go below it
    std::filesystem::path programs; ///< folder of the programs: findControlPlanePrograms()
    std::filesystem::path
        egressSocket; ///< Unix socket of an HTTP CONNECT proxy; empty: the apiserver dials itself
    std::string serviceRange = "10.201.0.0/16"; ///< ClusterIPs
    std::string advertiseAddress = "10.128.0.2"; ///< must not be loopback; nothing needs to listen there
    std::vector<ControlPlaneToken> tokens; ///< besides the admin token, which start() makes and keeps
    bool controllers = true; ///< kube-controller-manager and kube-scheduler too
    bool ray = true; ///< KubeRay's CRDs and operator too, as GKE's add-on RayOperator (needs controllers)
    bool rayOperatorOnDemand = false; ///< its CRDs only; startRayOperator() when there is an object for it
    std::chrono::seconds startTimeout{300}; ///< a busy machine may need minutes;
};

/// How clients reach the API server. The port is kept over restarts unless somebody else has taken it.
struct ControlPlaneEndpoint
{
    std::uint16_t port = 0; ///< on 127.0.0.1
    std::string url; ///< https://127.0.0.1:PORT
    std::string caPem;
    std::filesystem::path caFile;
    std::string adminToken; ///< group system:masters
    std::filesystem::path
        kubeletClientCa; ///< whom a kubelet's server must trust: the apiserver comes with this
};

/// What happened to one of the programs, in the order in which it happened.
struct ProcessEvent
{
    enum class Kind { Started, Exited, RestartPlanned, Stopped, Failed };

    std::string process; ///< "etcd", "kube-apiserver", ...
    Kind kind = Kind::Started;
    std::int64_t pid = 0;
    int exitCode = 0; ///< of Exited, when signal is 0
    int signal = 0; ///< of Exited, by a signal
    std::chrono::milliseconds nextTry{0}; ///< of RestartPlanned: from now
    std::string message; ///< for a person; names the log file where that helps
};

struct ProcessState
{
    std::string name;
    std::int64_t pid = 0; ///< 0: not running
    int restarts = 0; ///< since start()
    std::string lastExit; ///< "exit code 1", "signal 9 (Killed)"; empty: never ended
    std::uint64_t residentBytes = 0;
    std::filesystem::path logFile;
};

struct ControlPlaneState
{
    enum class Stage { Stopped, Starting, Running, Stopping };

    Stage stage = Stage::Stopped;
    std::vector<ProcessState> processes; ///< in start order
};

/// The real control plane of one cluster: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
/// the KubeRay operator as supervised child processes. Each one that ends by itself is started again with
/// back-off. They end with this process (also when it is killed), and what was acknowledged stays on the
/// disk.
///
/// start(), enableRay(), startRayOperator() and stop() block and may be called from any one thread at a time;
/// the other members from any thread.
class ControlPlane
{
public:
    using StageHandler = std::function<void(const std::string &)>; ///< "starting etcd", ...: for a person
    using EndpointHandler = std::function<void(const ControlPlaneEndpoint &)>;
    using EventHandler = std::function<void(const ProcessEvent &)>; ///< on the supervising thread: be quick,
                                                                    ///< call nothing here

    explicit ControlPlane(ControlPlaneOptions options, EventHandler onEvent = {});
    ~ControlPlane(); ///< stops
    ControlPlane(const ControlPlane &) = delete;
    ControlPlane &operator=(const ControlPlane &) = delete;

    /// Returns when the API answers /readyz, Ray's kinds can be listed and the controllers work.
    /// Errors: FailedPrecondition (a program is missing; another process runs this folder; no memory of
    /// ports), DeadlineExceeded (not ready in time), Cancelled, Unavailable (a program ended at once; the
    /// text has its last words). After an error nothing of it runs.
    /// `onServing` is called from inside as soon as /readyz is: the controllers start meanwhile.
    Result<ControlPlaneEndpoint> start(const StageHandler &onStage = {}, const CancelToken &cancel = {},
                                       const EndpointHandler &onServing = {});

    /// Adds KubeRay's CRDs and operator to one that runs without (the add-on was switched on later); with
    /// them: nothing to do. Errors as of start(); the rest goes on running.
    Status enableRay(const CancelToken &cancel = {});

    /// With rayOperatorOnDemand: starts it if it does not run yet. FailedPrecondition without `ray`, or while
    /// the control plane does not run.
    Status startRayOperator();

    /// Asks the programs to end, last started first, and waits; one that does not is killed. Returns with
    /// none left.
    void stop();

    [[nodiscard]] ControlPlaneState state() const;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cluster::local
