#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_process.h"

#include <algorithm>
#include <fstream>
#include <spdlog/spdlog.h>

// What containers need before the first starts, and what is given back after the last: addresses, volumes,
// devices.
namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string hostAddress(const json *node)
{
    if (node == nullptr)
        return {};
    for (const json &address : itemsOf(fieldOf(*node, "status"), "addresses")) {
        if (textOf(address, "type") == "InternalIP")
            return textOf(address, "address");
    }
    return {};
}

} // namespace

void PodRunner::prepareSandbox()
{
    const auto node = m_context.node(m_pod->node);
    m_record.hostIp = hostAddress(node.get());
    if (m_pod->hostNetwork)
        m_record.podIp = m_record.hostIp;
    if (m_record.podIp.empty()) {
        const auto address = m_context.addresses.take();
        if (!address) {
            m_record.sandboxRetryAt = now() + m_context.scaled(10);
            podEvent(EventType::Warning, "FailedCreatePodSandBox",
                     "Failed to create pod sandbox: " + address.error().message);
            return;
        }
        m_record.podIp = *address;
    }
    openMetadata();
    const bool hasClaims = hasDeviceClaims(*m_pod);
    if (m_isSimulated && !hasClaims) {
        m_record.sandbox = SandboxState::Ready;
        return;
    }
    m_record.sandbox = SandboxState::Preparing;
    updateHosts();
    const auto tokens = m_process ? m_process->tokens : nullptr; // simulated: no volumes
    m_context.work.run([weak = weak_from_this(), &context = m_context, input = preparation(0), tokens,
                        hasClaims]() -> std::function<void()> {
        Result<VolumePaths> volumes = tokens ? preparePodVolumes(context, input, *tokens) : VolumePaths{};
        Result<std::vector<ClaimedDevice>> devices;
        if (volumes && hasClaims)
            devices
                = context.claims.prepare(*input.pod, input.node ? *input.node : json(), context.work.token());
        return [weak, &context, uid = input.pod->uid, volumes, devices] {
            const auto self = weak.lock();
            if (self && !self->m_record.isTornDown)
                self->onPrerequisites(volumes, devices);
            else if (devices && !devices->empty()) // deleted by force meanwhile
                context.work.run([&context, uid]() -> std::function<void()> {
                    (void)context.claims.unprepare(uid);
                    return nullptr;
                });
        };
    });
}

/// A pod goes without a metadata server rather than not at all.
void PodRunner::openMetadata()
{
    if (!m_process || !m_context.options.metadata)
        return;
    if (auto access = m_context.options.metadata->open(*m_pod))
        m_process->metadata = std::move(*access);
    else
        podEvent(EventType::Warning, "MetadataServerMissing", access.error().message);
}

/// Where something failed: when it is tried again, a wait that doubles.
void PodRunner::retrySandbox(const char *reason, const std::string &message)
{
    m_record.sandbox = SandboxState::None;
    const double wait = 0.5 * (1 << std::min<int>(m_failedPreparations, 8));
    m_failedPreparations = static_cast<std::uint8_t>(std::min(m_failedPreparations + 1, 8));
    m_record.sandboxRetryAt = now() + m_context.scaled(wait);
    podEvent(EventType::Warning, reason, message);
}

void PodRunner::updateHosts()
{
    if (!m_process || m_record.podIp.empty() || m_record.isTornDown)
        return;
    const auto &hostsOf = m_context.options.hostsOf;
    std::string text
        = hostsText(*m_pod, localAddress(m_record.podIp),
                    (hostsOf ? hostsOf(m_pod->nameSpace) : std::string()) + m_process->metadata.hosts);
    if (text == m_process->hosts)
        return;
    std::error_code error;
    fs::create_directories(folder() / "etc", error);
    // In place: it is this file that the containers have mounted.
    std::ofstream(folder() / "etc" / "hosts") << text;
    m_process->hosts = std::move(text);
}

void PodRunner::onPrerequisites(const Result<VolumePaths> &volumes,
                                const Result<std::vector<ClaimedDevice>> &devices)
{
    if (!volumes) {
        retrySandbox("FailedMount", volumes.error().message);
    } else if (!devices) {
        retrySandbox("FailedPrepareDynamicResources",
                     "Failed to prepare dynamic resources: prepare dynamic resources: "
                         + devices.error().message);
    } else if (!devices->empty() && m_pod->hostNetwork) {
        retrySandbox("FailedCreatePodSandBox",
                     "Failed to create pod sandbox: RunPodSandbox pod " + m_pod->nameSpace + "/" + m_pod->name
                         + " using host network can not claim host devices");
    } else {
        m_record.sandbox = SandboxState::Ready;
        if (m_process)
            useVolumes(*volumes, *devices);
    }
    sync();
}

void PodRunner::useVolumes(const VolumePaths &volumes, const std::vector<ClaimedDevice> &devices)
{
    m_process->volumes = volumes;
    m_process->devices = devices;
    if (!volumes.empty())
        annotate("slipway.dev/volumes", m_context.isolation.mounts ? "mounted" : "rewritten to SLIPWAY_ROOT");
    const Environment told = deviceVariables(devices);
    if (const auto names = told.find("SLIPWAY_NETWORK_INTERFACES"); names != told.end())
        annotate("slipway.dev/network-devices", names->second + " (simulated)");
    if (hasLiveVolumes(*m_pod))
        refreshVolumes();
}

/// Once a minute, as kubelet's own loop.
void PodRunner::refreshVolumes()
{
    m_process->refresh.expires_after(m_context.scaled(60));
    m_process->refresh.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (error || !self || self->m_isSilent || self->m_record.isTornDown)
            return;
        self->m_context.work.run([weak, &context = self->m_context, input = self->preparation(0),
                                  tokens = self->m_process->tokens]() -> std::function<void()> {
            (void)preparePodVolumes(context, input, *tokens); // a Secret that has gone stays as it was
            return [weak] {
                if (const auto runner = weak.lock())
                    runner->refreshVolumes();
            };
        });
    });
}

/// Its claims are unprepared before the pod is told to be over, as kubelet does it; then it is torn down.
void PodRunner::releaseDevices()
{
    m_holdsDevices = false;
    m_record.sandbox = SandboxState::Preparing; // nothing else is done meanwhile
    m_context.work.run(
        [weak = weak_from_this(), &context = m_context, uid = m_pod->uid]() -> std::function<void()> {
            if (const Status done = context.claims.unprepare(uid); !done)
                spdlog::warn("unpreparing devices: {}", done.error().message);
            return [weak] {
                if (const auto self = weak.lock()) {
                    self->m_record.sandbox = SandboxState::None;
                    self->sync();
                }
            };
        });
}

} // namespace cluster::local
