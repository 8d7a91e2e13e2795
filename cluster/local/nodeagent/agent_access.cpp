#include "cluster/local/nodeagent/agent_access.h"

#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_status.h"
#include "cluster/local/nodeagent/process_usage.h"

namespace cluster::local {

using nlohmann::json;

Result<std::shared_ptr<PodRunner>> AgentAccess::find(const std::string &nameSpace, const std::string &name,
                                                     const std::string &node) const
{
    for (const auto &[uid, pod] : m_pods) {
        const PodSpec &spec = pod->spec();
        if (spec.name == name && spec.nameSpace == nameSpace && (node.empty() || spec.node == node))
            return pod;
    }
    return fail(ErrorCode::NotFound, "pod \"" + nameSpace + "/" + name + "\" not found");
}

Result<std::size_t> AgentAccess::containerOf(const PodRunner &pod, const std::string &name)
{
    const auto &containers = pod.spec().containers;
    for (std::size_t i = 0; i < containers.size(); ++i) {
        if (name.empty() ? containers[i].role == ContainerRole::Main : containers[i].name == name)
            return i;
    }
    return fail(ErrorCode::NotFound, "container " + name + " is not valid for pod " + pod.spec().name);
}

json AgentAccess::pods(const std::string &node) const
{
    json list = json::array();
    for (const auto &[uid, pod] : m_pods) {
        if (node.empty() || pod->spec().node == node)
            list.push_back(pod->object());
    }
    return list;
}

Result<std::unique_ptr<LogReader>> AgentAccess::openLog(const ContainerRef &ref, const std::string &node,
                                                        const LogOptions &options)
{
    const auto pod = find(ref.podNamespace, ref.pod, node);
    if (!pod)
        return tl::unexpected(pod.error());
    const auto container = containerOf(**pod, ref.container);
    if (!container)
        return tl::unexpected(container.error());
    auto log = (*pod)->log(*container, options.previous);
    if (!log)
        return tl::unexpected(log.error());
    return readLog(std::move(*log), options);
}

Result<std::unique_ptr<ContainerProcess>> AgentAccess::exec(const ContainerRef &ref, const std::string &node,
                                                            const ExecOptions &options)
{
    const auto pod = find(ref.podNamespace, ref.pod, node);
    if (!pod)
        return tl::unexpected(pod.error());
    const auto container = containerOf(**pod, ref.container);
    if (!container)
        return tl::unexpected(container.error());
    if (ContainerRunner *runner = (*pod)->runner(*container))
        return runner->exec(options);
    const std::string name = (*pod)->spec().containers[*container].name;
    if ((*pod)->record().containers[*container].phase == ContainerPhase::Running)
        return fail(ErrorCode::Unimplemented,
                    "container \"" + name + "\" is simulated: there is no process to run a command beside");
    return fail(ErrorCode::NotFound, "container not found (\"" + name + "\")");
}

Result<std::string> AgentAccess::podAddress(const std::string &podNamespace, const std::string &name) const
{
    const auto pod = find(podNamespace, name, {});
    if (!pod)
        return tl::unexpected(pod.error());
    if ((*pod)->record().podIp.empty() || (*pod)->record().isTornDown)
        return fail(ErrorCode::FailedPrecondition, "pod is not running: " + podNamespace + "/" + name);
    return localAddress((*pod)->record().podIp);
}

std::vector<PodUsage> AgentAccess::usage(const std::string &node)
{
    const ProcessTable table = ProcessTable::read();
    const auto now = std::chrono::steady_clock::now();
    std::vector<PodUsage> list;
    for (const auto &[uid, pod] : m_pods) {
        const PodSpec &spec = pod->spec();
        if (!node.empty() && spec.node != node)
            continue;
        PodUsage usage{spec.nameSpace, spec.name, uid, spec.node, {}};
        for (std::size_t i = 0; i < spec.containers.size(); ++i) {
            const ContainerRecord &record = pod->record().containers[i];
            if (record.phase != ContainerPhase::Running)
                continue;
            ContainerUsage of{spec.containers[i].name, record.startedAt, 0, 0, 0, 0};
            if (const ContainerRunner *runner = pod->runner(i)) {
                const ProcessUsage used = table.usageOf(runner->pid());
                of.cpuNanoseconds = used.cpuNanoseconds;
                of.memoryBytes = used.residentBytes;
                of.anonymousBytes = used.anonymousBytes;
                const auto known = m_samples.find(record.containerId);
                Sample sample{used.cpuNanoseconds, 0, now};
                if (known != m_samples.end() && now - known->second.at < std::chrono::seconds(1)) {
                    sample = known->second; // too short for a rate
                } else if (known != m_samples.end() && used.cpuNanoseconds >= known->second.cpuNanoseconds) {
                    const std::chrono::duration<double> passed = now - known->second.at;
                    const auto more = static_cast<double>(used.cpuNanoseconds - known->second.cpuNanoseconds);
                    sample.nanocores = static_cast<std::uint64_t>(more / passed.count());
                }
                of.cpuNanocores = sample.nanocores;
                m_samples[record.containerId] = sample;
            }
            usage.containers.push_back(std::move(of));
        }
        list.push_back(std::move(usage));
    }
    if (m_samples.size() > 4 * m_pods.size() + 64)
        m_samples.clear(); // of containers long gone
    return list;
}

} // namespace cluster::local
