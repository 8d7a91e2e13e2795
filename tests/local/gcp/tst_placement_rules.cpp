#include "cluster/local/gcp/gke_rules.h"
#include "cluster/local/gcp/ip_space.h"
#include "cluster/local/gcp/placement_rules.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

const std::string kOk = "ok";

PoolSurroundings surroundingsIn(const std::string &zone)
{
    PoolSurroundings surroundings;
    surroundings.location = zone;
    surroundings.zones = {zone};
    surroundings.version = "1.34.4-gke.1047000";
    surroundings.dataplaneV2 = true;
    return surroundings;
}

PoolRequest requestOf(json pool, const PoolSurroundings &surroundings)
{
    pool["name"] = "pool";
    return *poolRequestOf(pool, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
}

std::string words(const GoogleStatus &status)
{
    return status ? kOk : status.error().message;
}

/// What GKE would say to this pool; "ok" if nothing.
std::string verdict(const json &pool, const PoolSurroundings &surroundings)
{
    return words(checkPool(requestOf(pool, surroundings), surroundings, GkeCatalog::builtIn(),
                           ComputeCatalog::builtIn()));
}

/// The first zone that has the machine type.
std::string zoneOf(const std::string &machineType)
{
    const ComputeCatalog &compute = ComputeCatalog::builtIn();
    const auto machine = compute.machine(machineType);
    return machine ? compute.accelerator(machine->accelerator)->zones.front() : std::string();
}

json ironwoodSlice()
{
    return {{"config", {{"machineType", "tpu7x-standard-4t"}, {"diskType", "hyperdisk-balanced"}}},
            {"initialNodeCount", 2},
            {"placementPolicy", {{"tpuTopology", "2x2x2"}, {"policyName", "p"}}}};
}

std::string policyVerdict(const json &pool, const std::optional<ResourcePolicy> &policy)
{
    const std::string zone = zoneOf(pool["config"]["machineType"].get<std::string>());
    return words(
        checkPolicy(requestOf(pool, surroundingsIn(zone)), policy, "my-project", GkeCatalog::builtIn()));
}

ResourcePolicy highThroughput(const std::string &topology)
{
    return {"p", true, "HIGH_THROUGHPUT", topology};
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

class TestPlacementRules : public QObject
{
    Q_OBJECT

private slots:
    void compactPlacementIsInOneZone();
    void compactPlacementHasNoBlueGreenUpgrades();
    void fewMachinesAreCompactWithFlexStart();
    void networkProfilesNeedDataplaneV2();
    void bootDisksFitTheirMachines_data();
    void bootDisksFitTheirMachines();
    void imageCachesNeedStreaming();
    void ironwoodSlicesTakeAWorkloadPolicyOfTheirTopology();
    void olderTpusTakeNoPolicyMadeByHand_data();
    void olderTpusTakeNoPolicyMadeByHand();
    void reservationsAreInThePoolsZone();
    void spotTakesNoReservation();
    void podsTakeRangesOfPowersOfTwo();
    void nodesFitTheRangesOfTheirCluster();
};

void TestPlacementRules::compactPlacementIsInOneZone()
{
    PoolSurroundings surroundings = surroundingsIn("us-central1-a");
    surroundings.location = "us-central1";
    surroundings.zones = {"us-central1-a", "us-central1-b"};
    json pool{{"config", {{"machineType", "n2-standard-4"}}}, {"initialNodeCount", 1}};
    QCOMPARE(verdict(pool, surroundings), kOk);
    pool["placementPolicy"] = {{"type", "COMPACT"}};
    QVERIFY(
        contains(verdict(pool, surroundings), "Compact placement requires a node pool in exactly one zone"));
    pool["placementPolicy"] = {{"policyName", "mine"}};
    QVERIFY(contains(verdict(pool, surroundings), "exactly one zone"));
    pool["locations"] = {"us-central1-b"};
    QCOMPARE(verdict(pool, surroundings), kOk);
}

void TestPlacementRules::compactPlacementHasNoBlueGreenUpgrades()
{
    json pool{{"upgradeSettings", {{"strategy", "BLUE_GREEN"}}}};
    QCOMPARE(verdict(pool, surroundingsIn("us-central1-a")), kOk);
    pool["placementPolicy"] = {{"type", "COMPACT"}};
    QVERIFY(
        contains(verdict(pool, surroundingsIn("us-central1-a")), "Blue-green upgrades are not supported"));
    pool["upgradeSettings"]["strategy"] = "SURGE";
    QCOMPARE(verdict(pool, surroundingsIn("us-central1-a")), kOk);
}

void TestPlacementRules::fewMachinesAreCompactWithFlexStart()
{
    const auto flexible = [](const char *machine) {
        return json{{"config", {{"machineType", machine}, {"flexStart", true}}},
                    {"initialNodeCount", 0},
                    {"autoscaling", {{"enabled", true}, {"maxNodeCount", 4}}},
                    {"management", {{"autoRepair", false}}},
                    {"placementPolicy", {{"type", "COMPACT"}}}};
    };
    QVERIFY(
        contains(verdict(flexible("a3-highgpu-8g"), surroundingsIn(zoneOf("a3-highgpu-8g"))),
                 "Flex start can't be combined with compact placement for machine type \"a3-highgpu-8g\""));
    json ultra = flexible("a3-ultragpu-8g");
    ultra["config"]["diskType"] = "hyperdisk-balanced";
    QCOMPARE(verdict(ultra, surroundingsIn(zoneOf("a3-ultragpu-8g"))), kOk);
    json slice = flexible("ct6e-standard-4t");
    slice["placementPolicy"]["tpuTopology"] = "4x4";
    QVERIFY(contains(verdict(slice, surroundingsIn("us-east5-b")), "compact placement"));
    slice["placementPolicy"].erase("type"); // as gcloud sends it
    QCOMPARE(verdict(slice, surroundingsIn("us-east5-b")), kOk);
}

void TestPlacementRules::networkProfilesNeedDataplaneV2()
{
    json pool{{"config", {{"machineType", "ct6e-standard-4t"}}},
              {"initialNodeCount", 4},
              {"placementPolicy", {{"tpuTopology", "4x4"}}},
              {"networkConfig", {{"acceleratorNetworkProfile", "auto"}}}};
    PoolSurroundings surroundings = surroundingsIn("us-east5-b");
    QCOMPARE(verdict(pool, surroundings), kOk);
    surroundings.dataplaneV2 = false;
    QVERIFY(contains(verdict(pool, surroundings), "requires GKE Dataplane V2"));
    surroundings.dataplaneV2 = true;
    pool["networkConfig"]["acceleratorNetworkProfile"] = "manual";
    QVERIFY(contains(verdict(pool, surroundings), "the only profile is \"auto\""));
    const json plain{{"networkConfig", {{"acceleratorNetworkProfile", "auto"}}}};
    QVERIFY(contains(verdict(plain, surroundings), "not supported for machine type \"e2-medium\""));
}

void TestPlacementRules::bootDisksFitTheirMachines_data()
{
    QTest::addColumn<QByteArray>("machine");
    QTest::addColumn<QByteArray>("disk"); // empty: none is named
    QTest::addColumn<QByteArray>("said");
    const char *incompatible = "Google Compute Engine: [pd-balanced, tpu7x-standard-4t] features are not "
                               "compatible for creating instance.";
    QTest::newRow("TPU7x, the default")
        << QByteArray("tpu7x-standard-4t") << QByteArray() << QByteArray(incompatible);
    QTest::newRow("TPU7x, persistent")
        << QByteArray("tpu7x-standard-4t") << QByteArray("pd-balanced") << QByteArray(incompatible);
    QTest::newRow("TPU7x, Hyperdisk")
        << QByteArray("tpu7x-standard-4t") << QByteArray("hyperdisk-balanced") << QByteArray("ok");
    QTest::newRow("v6e, the default") << QByteArray("ct6e-standard-4t") << QByteArray() << QByteArray("ok");
    QTest::newRow("Hyperdisk ML") << QByteArray("ct6e-standard-4t") << QByteArray("hyperdisk-ml")
                                  << QByteArray(
                                         "Disk type \"hyperdisk-ml\" can't be used as a boot disk; use "
                                         "\"hyperdisk-balanced\".");
}

void TestPlacementRules::bootDisksFitTheirMachines()
{
    QFETCH(QByteArray, machine);
    QFETCH(QByteArray, disk);
    QFETCH(QByteArray, said);
    json pool{{"config", {{"machineType", machine.toStdString()}}}, {"initialNodeCount", 1}};
    if (!disk.isEmpty())
        pool["config"]["diskType"] = disk.toStdString();
    QCOMPARE(verdict(pool, surroundingsIn(zoneOf(machine.toStdString()))), said.toStdString());
}

void TestPlacementRules::imageCachesNeedStreaming()
{
    const json disk{{"diskImage", "projects/p/global/images/i"}, {"mode", "CONTAINER_IMAGE_CACHE"}};
    json pool{{"config", {{"secondaryBootDisks", {disk}}}}};
    QVERIFY(contains(verdict(pool, surroundingsIn("us-central1-a")), "require image streaming"));
    pool["config"]["gcfsConfig"] = {{"enabled", true}};
    QCOMPARE(verdict(pool, surroundingsIn("us-central1-a")), kOk);
    pool["config"]["secondaryBootDisks"].push_back(disk);
    QVERIFY(contains(verdict(pool, surroundingsIn("us-central1-a")), "At most one secondary boot disk"));
}

void TestPlacementRules::ironwoodSlicesTakeAWorkloadPolicyOfTheirTopology()
{
    const std::string useWorkload = "Google Compute Engine: Creation of a managed instance group with "
                                    "tpu7x-standard-4t machine type with "
                                    "placement policy is not supported. Use workload policy instead.";
    json slice = ironwoodSlice();
    QCOMPARE(verdict(slice, surroundingsIn(zoneOf("tpu7x-standard-4t"))), kOk);
    QCOMPARE(policyVerdict(slice, highThroughput("2x2x2")), kOk);
    QVERIFY(contains(policyVerdict(slice, std::nullopt), "resourcePolicies/p' was not found."));
    QCOMPARE(policyVerdict(slice, ResourcePolicy{"p", false, {}, {}}), useWorkload);
    QVERIFY(contains(policyVerdict(slice, highThroughput("2x2x4")), "does not match accelerator topology"));
    QVERIFY(contains(policyVerdict(slice, highThroughput("")), "does not match accelerator topology"));
    QVERIFY(contains(policyVerdict(slice, ResourcePolicy{"p", true, "HIGH_AVAILABILITY", "2x2x2"}),
                     "must be \"HIGH_THROUGHPUT\""));
    slice["placementPolicy"]["type"] = "COMPACT";
    QCOMPARE(policyVerdict(slice, highThroughput("2x2x2")), useWorkload);
    slice["placementPolicy"] = {{"tpuTopology", "2x2x2"}};
    QCOMPARE(verdict(slice, surroundingsIn(zoneOf("tpu7x-standard-4t"))), useWorkload);
    slice["placementPolicy"] = {{"policyName", "p"}};
    QVERIFY(contains(policyVerdict(slice, highThroughput("2x2x2")), "single-host TPU slice pool"));
}

void TestPlacementRules::olderTpusTakeNoPolicyMadeByHand_data()
{
    QTest::addColumn<QByteArray>("machine");
    QTest::newRow("v4") << QByteArray("ct4p-hightpu-4t");
    QTest::newRow("v5e") << QByteArray("ct5lp-hightpu-4t");
    QTest::newRow("v5p") << QByteArray("ct5p-hightpu-4t");
    QTest::newRow("v6e") << QByteArray("ct6e-standard-4t");
}

void TestPlacementRules::olderTpusTakeNoPolicyMadeByHand()
{
    QFETCH(QByteArray, machine);
    const json pool{{"config", {{"machineType", machine.toStdString()}}},
                    {"initialNodeCount", 4},
                    {"placementPolicy", {{"policyName", "p"}}}};
    for (const ResourcePolicy &policy : {ResourcePolicy{"p", false, {}, {}}, highThroughput("2x2x4")})
        QCOMPARE(policyVerdict(pool, policy),
                 std::string(
                     "Google Compute Engine: Required field 'resource.requestedRunDuration' not specified."));
}

void TestPlacementRules::reservationsAreInThePoolsZone()
{
    const std::string zone = "us-east5-b";
    json pool{{"config",
               {{"machineType", "ct6e-standard-4t"},
                {"reservationAffinity",
                 {{"consumeReservationType", "SPECIFIC_RESERVATION"},
                  {"key", "compute.googleapis.com/reservation-name"},
                  {"values", {"mine"}}}}}},
              {"initialNodeCount", 4},
              {"placementPolicy", {{"tpuTopology", "4x4"}}}};
    const PoolRequest request = requestOf(pool, surroundingsIn(zone));
    QCOMPARE(verdict(pool, surroundingsIn(zone)), kOk);
    QCOMPARE(
        words(checkReservation(request, zone, std::nullopt, 0)),
        std::string("Google Compute Engine: reservation \"mine\" not found for node pool \"pool\" at zone "
                    "\"us-east5-b\"."));
    QCOMPARE(words(checkReservation(request, zone, Reservation{"ct6e-standard-4t", 4}, 0)), kOk);
    QVERIFY(words(checkReservation(request, zone, Reservation{"ct6e-standard-4t", 4}, 1))
                .ends_with("required 4 and short of 1 VM count of machine type ct6e-standard-4t."));
    QVERIFY(contains(words(checkReservation(request, zone, Reservation{"ct6e-standard-8t", 9}, 0)),
                     "short of 4 VM count"));
    json &affinity = pool["config"]["reservationAffinity"];
    affinity["values"] = {"mine", "other"};
    QVERIFY(contains(verdict(pool, surroundingsIn(zone)), "exactly one reservation"));
    affinity["values"] = {"mine"};
    affinity["key"] = "name";
    QVERIFY(contains(verdict(pool, surroundingsIn(zone)), "compute.googleapis.com/reservation-name"));
}

void TestPlacementRules::spotTakesNoReservation()
{
    json pool{{"config",
               {{"spot", true}, {"reservationAffinity", {{"consumeReservationType", "ANY_RESERVATION"}}}}}};
    QVERIFY(contains(verdict(pool, surroundingsIn("us-central1-a")), "must be NO_RESERVATION"));
    pool["config"]["reservationAffinity"]["consumeReservationType"] = "NO_RESERVATION";
    QCOMPARE(verdict(pool, surroundingsIn("us-central1-a")), kOk);
}

void TestPlacementRules::podsTakeRangesOfPowersOfTwo()
{
    QCOMPARE(podRangeLength(110), 24);
    QCOMPARE(podRangeLength(64), 25);
    QCOMPARE(podRangeLength(32), 26);
    QCOMPARE(podRangeLength(15), 27);
    QCOMPARE(podRangeLength(8), 28);
    QCOMPARE(podRangeLength(1), 28);
    QCOMPARE(podRangeLength(256), 23);
}

void TestPlacementRules::nodesFitTheRangesOfTheirCluster()
{
    json cluster{{"name", "c"},
                 {"location", "us-east5"},
                 {"subnetwork", "default"},
                 {"ipAllocationPolicy", {{"clusterIpv4CidrBlock", "10.16.0.0/20"}}},
                 {"nodePools", {{{"initialNodeCount", 8}, {"locations", {"us-east5-a", "us-east5-b"}}}}}};
    QVERIFY(!exhaustedRange(cluster, "p")); // 16 nodes of /24
    cluster["nodePools"].push_back({{"initialNodeCount", 1}});
    const auto range = exhaustedRange(cluster, "p");
    QVERIFY(range && range->isPods);
    QVERIFY(wordsOf(*range).starts_with(
        "IP space of 'projects/p/regions/us-east5/subnetworks/default-gke-c-pods' "
        "is exhausted. Insufficient free IP addresses in the IP range "
        "'10.16.0.0/20'."));
    cluster["nodePools"][0]["maxPodsConstraint"] = {{"maxPodsPerNode", "15"}};
    QVERIFY(!exhaustedRange(cluster, "p"));
    cluster["ipAllocationPolicy"]["nodeIpv4CidrBlock"] = "/28"; // twelve addresses
    const auto nodes = exhaustedRange(cluster, "p");
    QVERIFY(nodes && !nodes->isPods);
    QCOMPARE(nodes->name, std::string("projects/p/regions/us-east5/subnetworks/default"));
    cluster["nodePools"][0]["status"] = "ERROR"; // its machines never came
    QVERIFY(!exhaustedRange(cluster, "p"));
}

QTEST_GUILESS_MAIN(TestPlacementRules)
#include "tst_placement_rules.moc"
