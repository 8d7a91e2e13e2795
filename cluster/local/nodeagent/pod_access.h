#pragma once

#include "cluster/base/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// A container, init container or sidecar of a pod. An empty `container` means the pod's only or first one.
struct ContainerRef
{
    std::string podNamespace;
    std::string pod;
    std::string container;
};

struct LogOptions
{
    bool previous = false; ///< of the run before this one
    bool follow = false; ///< goes on until the container has ended
    bool timestamps = false; ///< each line begins with its time, RFC 3339 with nanoseconds
    std::optional<std::int64_t> tailLines;
    std::optional<std::chrono::system_clock::time_point> since;
    std::optional<std::int64_t> limitBytes;
    std::string stream; ///< "Stdout", "Stderr"; empty or "All": both
};

/// What kubelet answers to containerLogs: the lines without the file's own format. Threads: the io_context's.
class LogReader
{
public:
    virtual ~LogReader() = default;

    /// The next part, of about `maxBytes` at most. Empty: nothing now; ask atEnd().
    virtual Result<std::string> read(std::size_t maxBytes) = 0;

    /// Nothing will come any more. Without `follow` that is so when the file has been read.
    [[nodiscard]] virtual bool atEnd() const = 0;

    /// Calls `wake` once, on the io_context, as soon as read() may have more or the end was reached; at once
    /// if that is so already. A second call replaces the first. Not called after the reader has gone.
    virtual void whenMore(std::function<void()> wake) = 0;
};

struct ExecOptions
{
    std::vector<std::string> command; ///< empty: attach to the container's main process
    bool hasStdin = false;
    bool hasStdout = true;
    bool hasStderr = true;
    bool tty = false; ///< standard error is the terminal then, too
};

struct ProcessEnd
{
    int exitCode = 0; ///< 128 + signal where a signal ended it
    std::string error; ///< not empty: could not be started or was lost, and why
};

/// A running exec or attach. Threads: the io_context's. Its destructor ends an exec's process (not the
/// container of an attach).
class ContainerProcess
{
public:
    virtual ~ContainerProcess() = default;

    /// Our ends of its pipes or terminal, non-blocking, close-on-exec. Each can be taken once; the caller
    /// closes it. -1: not asked for, or the terminal does its work (standard error).
    virtual int takeStdin() = 0;
    virtual int takeStdout() = 0;
    virtual int takeStderr() = 0;

    /// Of a terminal; no effect otherwise.
    virtual void resize(std::uint16_t columns, std::uint16_t rows) = 0;

    /// Calls `handler` once, on the io_context. The pipes may still hold output then: read them to their end.
    virtual void whenEnded(std::function<void(ProcessEnd)> handler) = 0;
};

/// Numbers of /proc, summed over all processes of a container.
struct ContainerUsage
{
    std::string container;
    std::chrono::system_clock::time_point startedAt;
    std::uint64_t cpuNanoseconds = 0; ///< since its start
    std::uint64_t cpuNanocores = 0; ///< over the last seconds
    std::uint64_t memoryBytes = 0; ///< resident
    std::uint64_t anonymousBytes = 0; ///< of that, not backed by files
};

struct PodUsage
{
    std::string podNamespace;
    std::string pod;
    std::string uid;
    std::string node;
    std::vector<ContainerUsage> containers; ///< simulated ones report zeros
};

/// What the kubelet's API needs of the pods of one cluster. All of it on the io_context's thread, none of it
/// blocks. Errors: NotFound (no such pod or container, with kubelet's words), InvalidArgument
/// ("container \"c\" in pod \"p\" is waiting to start: ContainerCreating", an ambiguous name), Unimplemented
/// (a simulated container can't run programs), Internal.
class PodAccess
{
public:
    virtual ~PodAccess() = default;

    /// Pod objects as last seen, with the status we last computed; empty `node`: of all nodes.
    [[nodiscard]] virtual nlohmann::json pods(const std::string &node) const = 0;

    /// \param node  Only a pod of this node is found; empty: any.
    virtual Result<std::unique_ptr<LogReader>> openLog(const ContainerRef &ref, const std::string &node,
                                                       const LogOptions &options)
        = 0;

    /// In the container's environment, working directory and, where containers have them, namespaces.
    virtual Result<std::unique_ptr<ContainerProcess>> exec(const ContainerRef &ref, const std::string &node,
                                                           const ExecOptions &options)
        = 0;

    /// The address of this machine that plays the pod's IP ("127.4.0.7"), for port-forward.
    /// FailedPrecondition where the pod isn't running.
    [[nodiscard]] virtual Result<std::string> podAddress(const std::string &podNamespace,
                                                         const std::string &pod) const = 0;

    /// Containers with a process: measured now. Empty `node`: of all nodes.
    [[nodiscard]] virtual std::vector<PodUsage> usage(const std::string &node) = 0;
};

} // namespace cluster::local
