#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/pod_access.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster {
class KubeClient;
}

namespace cluster::local {

class BucketVolumes;
class PodMetadata;

/// Gives the folder that plays a disk (PersistentVolume). Called on a pool thread;
/// NotFound keeps the pod in ContainerCreating with a FailedMount event of that text.
using FolderOf = std::function<Result<std::filesystem::path>(const std::string &name)>;

struct NodeAgentOptions
{
    /// Of this agent alone, made with mode 0700: pods/<uid>/{volumes,logs,root}. Short: sockets may lie in
    /// it.
    std::filesystem::path folder;
    /// resources/catalog/images.yaml.
    std::filesystem::path imagesFile;
    /// The program that containers are started by (slipway-pod-init). Empty: beside the running program.
    std::filesystem::path initProgram;
    /// Where the stand-ins (slipway-engine, slipway-ray) are. Empty: beside the running program.
    std::filesystem::path programsFolder;
    /// GGUF files that stand-ins serve.
    std::filesystem::path modelsFolder;
    /// File in modelsFolder (or an absolute path) that answers for every model. Empty: the smallest chat
    /// model there.
    std::string standInModel;

    std::string podCidr; ///< IPv4, "10.16.0.0/13": pod IPs come from it; 10.a.b.c is 127.a.b.c here.
    std::string kubernetesServiceHost; ///< For KUBERNETES_SERVICE_HOST in containers: "127.0.0.1"
    int kubernetesServicePort = 0;

    bool allowProcess = false; ///< Images that no stand-in plays run their own command on this host.
    /// The program that runs images which no stand-in plays; empty: not allowed, or not installed.
    std::filesystem::path podman;
    /// Where the machine's cgroups (version 2) are; empty: limits are kept without them.
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::vector<std::filesystem::path> hostPaths; ///< hostPath volumes are allowed at and below these.
    std::shared_ptr<BucketVolumes> buckets; ///< null: volumes of GCS FUSE are refused as without the driver
    std::shared_ptr<PodMetadata> metadata; ///< null: pods have no metadata server
    FolderOf diskFolder; ///< by the name of the disk, else of the PersistentVolume

    /// Lines of a hosts file for containers of a namespace: names of Services and pods. Called on the
    /// io_context every few seconds; none: only the pod itself has a name.
    std::function<std::string(const std::string &nameSpace)> hostsOf;

    double timeScale = 1; ///< Back-off, probe periods and grace are divided by it (tests).
    std::size_t writerThreads = 2; ///< For calls to the API server.
};

/// The kubelet's role for every node of one cluster: pods that the scheduler gave to any node become
/// processes of this machine, and their status what kubelet would write. Knows the nodes by watching them.
///
/// Threads: made, started, stopped and asked on the io_context's thread; nothing blocks it.
class NodeAgent
{
public:
    /// \param client  Must outlive the agent; a user that may write pods, events, nodes' pods and tokens.
    NodeAgent(boost::asio::io_context &io, KubeClient &client, NodeAgentOptions options);
    ~NodeAgent(); ///< As stop(), without waiting for grace periods.
    NodeAgent(const NodeAgent &) = delete;
    NodeAgent &operator=(const NodeAgent &) = delete;

    /// Ends what an earlier agent of the same folder may have left, then watches. Errors: InvalidArgument
    /// (images file, CIDR), FailedPrecondition (folder in use by another agent).
    Status start();

    /// Ends all containers (SIGTERM, after `patience` SIGKILL) without telling the API server, and calls
    /// `stopped` on the io_context when nothing is left. Pods start again with the next agent, by the rules.
    void stop(std::chrono::milliseconds patience, std::function<void()> stopped);

    /// For the kubelet's API. Lives as long as the agent.
    PodAccess &access();

    /// Forgets the pods of a node that is to look lost (a fault on order): their processes are killed and
    /// nothing is reported any more until `isLost` is false again.
    void setNodeLost(const std::string &node, bool isLost);

    /// Graceful node shutdown as kubelet does it: pods get SIGTERM and, at most, their part of `grace`,
    /// critical ones after the others; they end as Failed with reason Terminated. Pods that come meanwhile
    /// are rejected, until setNodeLost(node, false) says that the machine is up again.
    void shutDownNode(const std::string &node, std::chrono::seconds grace);

    struct Counts
    {
        std::size_t pods = 0;
        std::size_t running = 0; ///< of them
        std::size_t processes = 0;
        std::size_t pendingWrites = 0;
    };
    [[nodiscard]] Counts counts() const;

private:
    class Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
