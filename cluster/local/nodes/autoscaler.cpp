#include "cluster/local/nodes/autoscaler.h"

#include "cluster/local/nodes/autoscaler_private.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

Autoscaler::Autoscaler(KubeClient &client, PoolScaler &scaler, AutoscalerOptions options)
    : d(std::make_unique<Private>(client, scaler, std::move(options)))
{
}

Autoscaler::~Autoscaler() = default;

void Autoscaler::wake()
{
    d->wake();
}

Autoscaler::Private::Private(KubeClient &client, PoolScaler &scaler, AutoscalerOptions options)
    : m_client(client), m_scaler(scaler), m_options(std::move(options)), m_writer(client), m_events(client)
{
    Informer::Handlers ofClasses;
    ofClasses.onEvent = [this](const InformerEvent &) { wake(); };
    m_classes = std::make_unique<Informer>(m_client, apiGroup("cloud.google.com", "v1", "computeclasses"),
                                           std::move(ofClasses));
    m_thread = std::jthread([this] { run(); });
}

Autoscaler::Private::~Private()
{
    m_cancel.request_stop();
    m_thread.join();
    m_pods.reset();
    m_classes->stop();
    m_changes.stop();
}

/// Pods without a node are followed only where a pool may grow: in a cluster without autoscaling they cost
/// nothing. True when they are known.
bool Autoscaler::Private::followPending(const Pools &pools)
{
    const bool mayGrow = m_options.createsPools
        || std::ranges::any_of(pools,
                               [](const PoolSpec &pool) { return pool.isAutoscaled || pool.isAutoCreated; })
        || std::ranges::any_of(m_classes->objects(),
                               [this](const KubeObject &object) { return mayCreateFor(*object); });
    if (!mayGrow) {
        m_pods.reset();
        return false;
    }
    if (!m_pods) {
        Informer::Handlers handlers;
        handlers.onEvent = [this](const InformerEvent &event) {
            if (event.type != InformerEventType::Deleted && isUnschedulable(*event.object))
                wake();
        };
        handlers.onSynced = [this] { wake(); };
        InformerOptions watched;
        watched.fieldSelector = "spec.nodeName=,status.phase=Pending"; // scheduled pods leave it
        m_pods
            = std::make_unique<Informer>(m_client, coreV1("pods"), std::move(handlers), std::move(watched));
    }
    return m_pods->synced();
}

void Autoscaler::Private::wake()
{
    const std::lock_guard lock(m_mutex);
    m_wantsScan = true;
    m_woken.notify_all();
}

void Autoscaler::Private::run()
{
    using std::chrono::milliseconds;
    // Pods of one workload become unschedulable one after the other: a moment later all of them are known.
    constexpr milliseconds gathering{300};
    const CancelToken cancel = m_cancel.get_token();
    while (!cancel.stop_requested()) {
        {
            std::unique_lock lock(m_mutex);
            m_woken.wait_for(lock, cancel, m_options.scanInterval, [this] { return m_wantsScan; });
            m_wantsScan = false;
            m_woken.wait_for(lock, cancel, std::min(gathering, m_options.scanInterval), [] { return false; });
        }
        if (!cancel.stop_requested())
            scan();
    }
}

void Autoscaler::Private::scan()
{
    const Pools pools = m_scaler.pools();
    if (followPending(pools))
        scaleUp(pools);
    reportClasses(pools);
    if (Clock::now() < m_nextScaleDown)
        return;
    m_nextScaleDown = Clock::now() + m_options.scanInterval;
    scaleDown(pools);
    writeStatus(pools);
}

} // namespace cluster::local
