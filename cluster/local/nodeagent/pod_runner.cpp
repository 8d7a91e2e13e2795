#include "cluster/local/nodeagent/pod_runner.h"

#include "cluster/local/nodeagent/bucket_volumes.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_process.h"
#include "cluster/local/nodeagent/pod_status.h"

#include <boost/asio/io_context.hpp>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;
using Kind = PodAction::Kind;

PodRunner::PodRunner(AgentContext &context, PodSpec pod, bool isSimulated)
    : m_context(context), m_pod(std::make_shared<const PodSpec>(std::move(pod))), m_isSimulated(isSimulated)
{
    m_record = recordFromStatus(*m_pod, now(), isSimulated);
    m_wasOver = m_record.isTornDown;
    m_holdsDevices = !m_wasOver && hasDeviceClaims(*m_pod);
    if (isSimulated)
        m_record.hostIp = textOf(fieldOf(*m_pod->object, "status"), "hostIP");
    if (!m_record.podIp.empty() && !m_pod->hostNetwork && !m_record.isTornDown
        && !m_context.addresses.claim(m_record.podIp))
        m_record.podIp.clear();
    if (!isSimulated)
        m_process = std::make_unique<Process>(context.io, m_pod->containers.size());
}

PodRunner::~PodRunner() = default;

fs::path PodRunner::folder() const
{
    return m_context.options.folder / "pods" / m_pod->uid;
}

bool PodRunner::hasProcesses() const
{
    return m_process && m_process->hasAny();
}

void PodRunner::sync()
{
    if (m_isSilent)
        return;
    m_wantsSync = true;
    if (m_isSyncing)
        return;
    const auto self = shared_from_this();
    m_isSyncing = true;
    std::optional<Time> wakeAt;
    while (m_wantsSync && !m_isSilent) {
        m_wantsSync = false;
        const PodPlan plan = planPod(*m_pod, m_record, now(), m_context.rules);
        for (const PodAction &action : plan.actions)
            perform(action);
        // What was done may have made something else possible.
        m_wantsSync = m_wantsSync || !plan.actions.empty();
        wakeAt = plan.wakeAt;
    }
    m_isSyncing = false;
    if (m_isSilent)
        return;
    report();
    armTimer(wakeAt);
    if (m_record.isTornDown)
        finish();
}

void PodRunner::perform(const PodAction &action)
{
    switch (action.kind) {
    case Kind::PrepareSandbox:
        prepareSandbox();
        break;
    case Kind::Start:
        start(action.container);
        break;
    case Kind::BackOff:
        backOff(action.container);
        break;
    case Kind::Stop:
        stop(action.container, action.graceSeconds);
        break;
    case Kind::Fail:
        m_record.verdict
            = PodVerdict{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"};
        podEvent(EventType::Normal, "DeadlineExceeded", m_record.verdict->message);
        break;
    case Kind::TearDown:
        if (m_holdsDevices)
            releaseDevices();
        else
            tearDown();
        break;
    }
}

void PodRunner::update(PodSpec pod, bool mayAct)
{
    const std::string phase = textOf(fieldOf(*pod.object, "status"), "phase");
    if ((phase == "Failed" || phase == "Succeeded") && !m_record.verdict) {
        const std::string own = podPhase(*m_pod, m_record);
        if (own != "Failed" && own != "Succeeded") {
            // Somebody else has ended it: the garbage collector of lost nodes, an eviction.
            const json &status = fieldOf(*pod.object, "status");
            m_record.verdict = PodVerdict{textOf(status, "reason", "Terminated"), textOf(status, "message")};
            m_record.verdict->isKnown = true;
        }
    }
    const bool isHurried
        = pod.deletionGrace && m_pod->deletionGrace && *pod.deletionGrace < *m_pod->deletionGrace;
    if (hasDeviceClaims(pod) && m_record.sandbox == SandboxState::None
        && fieldOf(fieldOf(*pod.object, "status"), "resourceClaimStatuses")
            != fieldOf(fieldOf(*m_pod->object, "status"), "resourceClaimStatuses"))
        m_record.sandboxRetryAt = {}; // what it waited for
    m_pod = std::make_shared<const PodSpec>(std::move(pod));
    // Ephemeral containers come to the end of the list; none ever goes.
    m_record.containers.resize(std::max(m_record.containers.size(), m_pod->containers.size()));
    if (m_process)
        m_process->resize(m_record.containers.size());
    if (isHurried && m_process) {
        for (std::size_t i = 0; i < m_pod->containers.size(); ++i) {
            if (ContainerRunner *running = runner(i))
                running->stop(*m_pod->deletionGrace);
        }
    }
    if (mayAct)
        sync();
}

void PodRunner::endFor(PodVerdict verdict)
{
    if (m_isSilent || m_record.isTornDown || m_record.verdict)
        return;
    verdict.since = now();
    m_record.verdict = std::move(verdict);
    for (std::size_t i = 0; i < m_pod->containers.size(); ++i) {
        if (ContainerRunner *running = runner(i); running && m_record.containers[i].isStopping)
            running->stop(graceOf(*m_pod, m_record)); // which it may have longer than this
    }
    sync();
}

void PodRunner::reject(const std::string &reason, const std::string &message)
{
    if (m_record.isTornDown || m_record.verdict)
        return;
    podEvent(EventType::Warning, reason, message);
    m_record.verdict = PodVerdict{reason, "Pod was rejected: " + message};
}

void PodRunner::onDeleted()
{
    m_isGone = true;
    killSilently();
}

void PodRunner::terminateSilently(std::int64_t grace)
{
    m_isSilent = true;
    for (std::size_t i = 0; i < m_pod->containers.size(); ++i) {
        if (ContainerRunner *running = runner(i))
            running->stop(grace);
    }
    if (!hasProcesses())
        finish();
}

void PodRunner::killSilently()
{
    m_isSilent = true;
    m_context.writer.forget(m_pod->uid);
    m_context.events.forget(m_pod->uid);
    for (std::size_t i = 0; i < m_pod->containers.size(); ++i) {
        if (ContainerRunner *running = runner(i))
            running->kill();
    }
    if (!hasProcesses())
        finish();
}

void PodRunner::tearDown()
{
    m_record.isTornDown = true;
    if (m_process && m_context.options.buckets)
        m_context.options.buckets->release(m_pod->uid);
    if (m_process && m_context.options.metadata)
        m_context.options.metadata->close(m_pod->uid);
    if (!m_record.podIp.empty() && !m_pod->hostNetwork)
        m_context.addresses.giveBack(m_record.podIp);
}

/// Nothing runs any more.
void PodRunner::finish()
{
    if (m_process)
        m_process->timer.cancel();
    if (m_isSilent) {
        if (!m_record.isTornDown)
            tearDown();
        if (m_isGone && m_process) {
            m_context.work.run([gone = folder()]() -> std::function<void()> {
                std::error_code error;
                fs::remove_all(gone, error);
                return nullptr;
            });
        }
        m_context.onGone(m_pod->uid);
        return;
    }
    if (m_pod->deletionGrace)
        m_context.writer.remove({m_pod->nameSpace, m_pod->name, m_pod->uid});
}

void PodRunner::armTimer(std::optional<Time> at)
{
    if (!m_process && !at)
        return;
    if (!m_process) // a simulated pod with a deadline or an end
        m_process = std::make_unique<Process>(m_context.io, m_pod->containers.size());
    m_process->timer.cancel();
    if (!at)
        return;
    m_process->timer.expires_after(std::max<Time::duration>(*at - now(), std::chrono::milliseconds(1)));
    m_process->timer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (!error && self)
            self->sync();
    });
}

void PodRunner::report()
{
    if (m_wasOver)
        return;
    json status = podStatus(*m_pod, m_record, now());
    const std::size_t hash = std::hash<json>()(status);
    if (hash == m_reported && !(m_process && !m_process->annotations.empty()))
        return;
    // A simulated pod that is deleted has nothing more to say.
    if (m_isSimulated && m_pod->deletionGrace && !m_pod->isOfJob)
        return;
    m_reported = hash;
    // Lists that a strategic patch would add to: an address that has changed would stay beside the new one.
    for (const char *list : {"podIPs", "hostIPs"}) {
        if (status.contains(list))
            status[list].insert(status[list].begin(), json{{"$patch", "replace"}});
    }
    json patch{{"status", std::move(status)}};
    if (m_process) {
        for (auto &[name, value] : std::exchange(m_process->annotations, {}))
            patch["metadata"]["annotations"][name] = std::move(value);
    } else if (m_pod->runtime.empty()) {
        const auto choice = m_context.images.choose(m_pod->containers.front(), {});
        if (choice && !choice->standIn.empty())
            patch["metadata"]["annotations"]["slipway.dev/stand-in"] = choice->standIn;
    }
    m_context.writer.writeStatus({m_pod->nameSpace, m_pod->name, m_pod->uid}, std::move(patch));
}

json PodRunner::object() const
{
    json pod = *m_pod->object;
    PodRecord record = m_record;
    pod["status"].update(podStatus(*m_pod, record, now()));
    return pod;
}

void PodRunner::event(std::size_t container, EventType type, const std::string &reason,
                      const std::string &message)
{
    if (m_isSilent)
        return;
    const ContainerSpec &spec = m_pod->containers[container];
    m_context.events.record({{m_pod->nameSpace, m_pod->name, m_pod->uid},
                             m_pod->node,
                             spec.name,
                             listOf(spec.role),
                             type,
                             reason,
                             message},
                            now());
}

void PodRunner::podEvent(EventType type, const std::string &reason, const std::string &message)
{
    if (m_isSilent)
        return;
    m_context.events.record(
        {{m_pod->nameSpace, m_pod->name, m_pod->uid}, m_pod->node, {}, {}, type, reason, message}, now());
}

void PodRunner::annotate(const std::string &name, const std::string &value)
{
    if (!m_process)
        return;
    const json &known = fieldOf(fieldOf(*m_pod->object, "metadata"), "annotations");
    if (textOf(known, name) != value)
        m_process->annotations[name] = value;
}

} // namespace cluster::local
