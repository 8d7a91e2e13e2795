#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_object.h"
#include "cluster/local/nodes/node_pools_private.h"
#include "cluster/local/nodes/node_resources.h"

#include <QTest>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

const NodesCluster testCluster{"my-project", "tpu-cluster", "europe-west4", "1.34.1-gke.3084001", 10250};

PoolSpec tpuPool()
{
    PoolSpec pool;
    pool.name = "v6e-pool";
    pool.machineType = "ct6e-standard-4t";
    pool.zones = {"europe-west4-a"};
    pool.nodeCount = 4;
    pool.tpuTopology = "4x4";
    pool.tpuAccelerator = "tpu-v6e-slice";
    pool.tpuChipsPerNode = 4;
    pool.isMultiHost = true;
    pool.labels = {{"team", "llm"}, {"kubernetes.io/os", "plan9"}};
    pool.taints = {{"dedicated", "llm", "NoExecute"}};
    return pool;
}

PoolSpec gpuPool()
{
    PoolSpec pool;
    pool.name = "l4";
    pool.machineType = "g2-standard-24";
    pool.zones = {"europe-west4-a", "europe-west4-b"};
    pool.gpuAccelerator = "nvidia-l4";
    pool.gpusPerNode = 2;
    pool.gpuDriverVersion = "latest";
    pool.provisioning = Provisioning::Spot;
    return pool;
}

Json node(const PoolSpec &pool, const MachineShape &shape)
{
    const NodeIdentity identity{nodeName(testCluster.project, testCluster.name, pool, pool.zones[0], 0),
                                pool.zones[0],
                                {"10.128.0.3", {}}};
    return nodeObject(testCluster, pool, shape, identity, UnixTime(1764532800));
}

bool hasTaint(const Json &object, const char *key, const char *value, const char *effect)
{
    for (const Json &taint : object["spec"]["taints"]) {
        if (taint == Json{{"key", key}, {"value", value}, {"effect", effect}})
            return true;
    }
    return false;
}

} // namespace

class TestNodeObject : public QObject
{
    Q_OBJECT

private slots:
    void aTpuNodeHasTheLabelsThatPodsSelect()
    {
        const Json object = node(tpuPool(), {180, 720});
        const Json &labels = object["metadata"]["labels"];
        const std::map<std::string, std::string> expected{
            {"cloud.google.com/gke-nodepool", "v6e-pool"},
            {"cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice"},
            {"cloud.google.com/gke-tpu-topology", "4x4"},
            {"cloud.google.com/gke-accelerator-count", "4"},
            {"cloud.google.com/machine-family", "ct6e"},
            {"cloud.google.com/gke-provisioning", "standard"},
            {"cloud.google.com/gke-os-distribution", "cos"},
            {"cloud.google.com/gke-cpu-scaling-level", "180"},
            {"cloud.google.com/gke-memory-gb-scaling-level", "720"},
            {"node.kubernetes.io/instance-type", "ct6e-standard-4t"},
            {"topology.kubernetes.io/zone", "europe-west4-a"},
            {"topology.kubernetes.io/region", "europe-west4"},
            {"topology.gke.io/zone", "europe-west4-a"},
            {"kubernetes.io/hostname", object["metadata"]["name"].get<std::string>()},
            {"iam.gke.io/gke-metadata-server-enabled", "true"},
            {"team", "llm"},
            {"kubernetes.io/os", "linux"}, // not the user's
        };
        for (const auto &[key, value] : expected)
            QVERIFY2(labels.value(key, std::string()) == value, key.c_str());
    }

    void acceleratorsAreTaintedAndCounted()
    {
        const Json tpu = node(tpuPool(), {180, 720});
        QVERIFY(hasTaint(tpu, "google.com/tpu", "present", "NoSchedule"));
        QVERIFY(hasTaint(tpu, "dedicated", "llm", "NoExecute"));
        QVERIFY(tpu["status"]["capacity"]["google.com/tpu"] == "4");
        QVERIFY(tpu["status"]["allocatable"]["google.com/tpu"] == "4");
        QVERIFY(tpu["status"]["allocatable"]["pods"] == "110");

        const Json gpu = node(gpuPool(), {24, 96});
        QVERIFY(hasTaint(gpu, "nvidia.com/gpu", "present", "NoSchedule"));
        QVERIFY(!hasTaint(gpu, "cloud.google.com/gke-spot", "true", "NoSchedule")); // only if auto-created
        QVERIFY(gpu["status"]["allocatable"]["nvidia.com/gpu"] == "2");
        QVERIFY(gpu["metadata"]["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-l4");
        QVERIFY(gpu["metadata"]["labels"]["cloud.google.com/gke-spot"] == "true");
        QVERIFY(gpu["metadata"]["labels"]["cloud.google.com/gke-provisioning"] == "spot");
        QVERIFY(!gpu["metadata"]["labels"].contains("cloud.google.com/gke-tpu-topology"));
    }

    void autoCreatedPoolsAreTaintedByClassOrAsSpot()
    {
        PoolSpec pool = gpuPool();
        pool.isAutoCreated = true;
        QVERIFY(hasTaint(node(pool, {24, 96}), "cloud.google.com/gke-spot", "true", "NoSchedule"));
        pool.computeClass = "cheap";
        const Json object = node(pool, {24, 96});
        QVERIFY(!hasTaint(object, "cloud.google.com/gke-spot", "true", "NoSchedule"));
        QVERIFY(hasTaint(object, "cloud.google.com/compute-class", "cheap", "NoSchedule"));
        QVERIFY(object["metadata"]["labels"]["cloud.google.com/compute-class"] == "cheap");
    }

    /// A live ct6e-standard-1t of 44 vCPU and 176 GB: allocatable 43820m and 162.7 GiB (facts/accelerators).
    void allocatableIsWhatALiveNodeHas()
    {
        PoolSpec pool = tpuPool();
        const NodeResources left = nodeAllocatable(nodeCapacity({44, 176}, pool), pool);
        QCOMPARE(left.cpuMilli, 43820);
        const double gib = static_cast<double>(left.memoryBytes) / (1024.0 * 1024 * 1024);
        QVERIFY2(std::abs(gib - 162.7) < 0.1, std::to_string(gib).c_str());
    }

    void smallMachinesKeepTheDocumentedReserve()
    {
        PoolSpec pool = gpuPool();
        const NodeResources left = nodeAllocatable(nodeCapacity({4, 16}, pool), pool);
        QCOMPARE(left.cpuMilli, 3920); // 60 + 10 + 5 + 5
        // 100 GB boot disk: the file system's 98831908 KiB, less 10 % and 6 GiB + 35 % of the disk.
        QVERIFY(std::abs(left.ephemeralBytes - 47060071478) < 1024 * 1024);
        pool.maxPodsPerNode = 200;
        QCOMPARE(nodeAllocatable(nodeCapacity({4, 16}, pool), pool).cpuMilli, 3520);
        QCOMPARE(nodeCapacity({2, 0.5}, pool).memoryBytes
                     - nodeAllocatable(nodeCapacity({2, 0.5}, pool), pool).memoryBytes,
                 std::int64_t{355} << 20U); // 255 MiB and 100 MiB
    }

    void nodeSaysWhereItIsAndThatItIsReady()
    {
        const Json object = node(tpuPool(), {180, 720});
        const auto name = object["metadata"]["name"].get<std::string>();
        QCOMPARE(object["spec"]["providerID"].get<std::string>(), "gce://my-project/europe-west4-a/" + name);
        const Json &status = object["status"];
        QVERIFY(status["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250);
        QVERIFY(status["addresses"][0] == (Json{{"type", "InternalIP"}, {"address", "10.128.0.3"}}));
        QVERIFY(status["nodeInfo"]["kubeletVersion"] == "v1.34.1-gke.3084001");
        std::set<std::string> types;
        for (const Json &condition : status["conditions"]) {
            types.insert(condition["type"].get<std::string>());
            QVERIFY(condition["status"] == (condition["type"] == "Ready" ? "True" : "False"));
            QVERIFY(condition["lastHeartbeatTime"] == "2025-11-30T20:00:00Z");
        }
        QVERIFY(types.contains("Ready") && types.contains("DiskPressure")
                && types.contains("MemoryPressure"));
    }

    void namesAreThoseOfInstanceGroups()
    {
        const auto name = [](const PoolSpec &pool, int slot) {
            return nodeName("p", "a-cluster-with-a-very-long-name", pool, pool.zones[0], slot);
        };
        QVERIFY(std::regex_match(name(tpuPool(), 0), std::regex("gke-tpu-[0-9a-f]{8}-[0-9a-z]{4}")));
        QVERIFY(std::regex_match(name(gpuPool(), 0),
                                 std::regex("gke-a-cluster-with-a-l4-[0-9a-f]{8}-[0-9a-z]{4}")));
        PoolSpec autopilot = gpuPool();
        autopilot.isAutopilot = true;
        QVERIFY(name(autopilot, 0).starts_with("gk3-"));
        QCOMPARE(name(gpuPool(), 7), name(gpuPool(), 7));
        std::set<std::string> names;
        for (int slot = 0; slot < 300; ++slot)
            names.insert(name(tpuPool(), slot));
        QCOMPARE(names.size(), std::size_t{300});
    }

    void hostsAreChipsByChipsOfAHost()
    {
        PoolSpec pool = tpuPool();
        const auto hosts = [&](const char *topology, int chips) {
            pool.tpuTopology = topology;
            pool.tpuChipsPerNode = chips;
            return hostsOf(pool);
        };
        QCOMPARE(hosts("4x4", 4), 4);
        QCOMPARE(hosts("16x16", 4), 64);
        QCOMPARE(hosts("2x2x2", 4), 2);
        QCOMPARE(hosts("2x4", 8), 1);
        QCOMPARE(hosts("3x3", 4), 0);
        QCOMPARE(hosts("4x", 0), 0);
        QCOMPARE(hosts("x4", 4), 0);
        QCOMPARE(hosts("99999999999x4", 4), 0);
    }
};

QTEST_GUILESS_MAIN(TestNodeObject)
#include "tst_node_object.moc"
