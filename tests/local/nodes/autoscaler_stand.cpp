#include "tests/local/nodes/autoscaler_stand.h"

#include <QTest>
#include <nlohmann/json.hpp>

namespace tests {

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;
using std::chrono::milliseconds;

namespace {

const NodesCluster testCluster{"my-project", "c1", "europe-west4", "1.34.1-gke.3084001", 10250};

std::optional<MachineShape> machine(const std::string &type)
{
    if (type == "ct6e-standard-4t")
        return MachineShape{180, 720};
    if (type == "e2-standard-4")
        return MachineShape{4, 16};
    return std::nullopt;
}

} // namespace

Status DirectScaler::createPool(const PoolSpec &pool)
{
    if (isOutOfStock && pool.provisioning == Provisioning::Spot)
        return fail(ErrorCode::ResourceExhausted, "GCE out of resources");
    return m_pools.createPool(pool);
}

AutoscalerStand::AutoscalerStand(std::vector<PoolSpec> pools) : m_plane(true)
{
    m_failure = m_plane.failure();
    if (!m_plane.missing().empty() || !m_failure.empty())
        return;
    NodePoolsOptions options;
    options.cluster = testCluster;
    options.machine = machine;
    options.addresses = [](int number) {
        return NodeAddresses{"10.128.0." + std::to_string(number + 3), {}};
    };
    options.drainTime = milliseconds(1000);
    m_pools = std::make_unique<NodePools>(client(), options);
    if (const Status started = m_pools->start(std::move(pools)); !started)
        m_failure = started.error().message;
    m_scaler = std::make_unique<DirectScaler>(*m_pools);
}

AutoscalerStand::~AutoscalerStand()
{
    m_autoscaler.reset();
    m_pools.reset();
}

void AutoscalerStand::start(bool createsPools)
{
    m_autoscaler.reset();
    AutoscalerOptions options;
    options.cluster = testCluster;
    options.machine = machine;
    options.createsPools = createsPools;
    options.offers = {{"e2-standard-4", {4, 16}, {}, 0, {}, 0, {"europe-west4-a"}},
                      {"ct6e-standard-4t", {180, 720}, {}, 0, "tpu-v6e-slice", 4, {"europe-west4-a"}}};
    options.scanInterval = milliseconds(500);
    options.unneededTime = milliseconds(4000);
    options.evictionTime = milliseconds(10000);
    options.settleTime = milliseconds(15000);
    options.failureBackoff = milliseconds(2000);
    options.log = [this](const std::string &text) {
        const std::lock_guard lock(m_mutex);
        m_log += text + '\n';
    };
    m_autoscaler = std::make_unique<Autoscaler>(client(), *m_scaler, options);
}

bool AutoscalerStand::hasLogged(const std::string &words)
{
    const std::lock_guard lock(m_mutex);
    return m_log.find(words) != std::string::npos;
}

bool AutoscalerStand::make(const Json &pod)
{
    for (int i = 0; i < 100; ++i) {
        if (client().create(coreV1("pods", "default"), pod))
            return true;
        QTest::qWait(200);
    }
    return false;
}

void AutoscalerStand::drop(const std::string &podName)
{
    KubeDeleteOptions options;
    options.gracePeriodSeconds = 0;
    (void)client().remove(coreV1("pods", "default", podName), options);
}

std::string AutoscalerStand::nodeOf(const std::string &podName)
{
    const auto pod = client().get(coreV1("pods", "default", podName));
    return pod ? pod->at("spec").value("nodeName", std::string()) : std::string();
}

std::string AutoscalerStand::eventOf(const std::string &object, const std::string &reason,
                                     const std::string &nameSpace)
{
    KubeListOptions list;
    list.fieldSelector = "involvedObject.name=" + object + ",reason=" + reason;
    const auto events = client().list(coreV1("events", nameSpace), list);
    return events && !events->items.empty() ? events->items[0].value("message", std::string())
                                            : std::string();
}

PoolSpec autoscaledPool(const std::string &name, const std::string &machineType, int most)
{
    PoolSpec pool;
    pool.name = name;
    pool.machineType = machineType;
    pool.zones = {"europe-west4-a"};
    pool.isAutoscaled = true;
    pool.maxNodes = most;
    return pool;
}

Json podOf(const std::string &name, const char *cpu)
{
    return Json{
        {"metadata", {{"name", name}}},
        {"spec",
         {{"containers", {{{"name", "c"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}};
}

} // namespace tests
