#include "cluster/local/gcp/gke_rules.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

const GkeCatalog &gke()
{
    return GkeCatalog::builtIn();
}

const ComputeCatalog &compute()
{
    return ComputeCatalog::builtIn();
}

/// What GKE would say to this pool; "ok" if nothing.
std::string verdict(const json &pool, const std::string &zone = "us-east5-b",
                    const std::string &version = "1.34.4-gke.1047000")
{
    PoolSurroundings surroundings;
    surroundings.location = zone;
    surroundings.zones = {zone};
    surroundings.version = version;
    json asked = pool;
    asked["name"] = "pool";
    const auto request = poolRequestOf(asked, surroundings, gke(), compute());
    if (!request)
        return request.error().message;
    const auto checked = checkPool(*request, surroundings, gke(), compute());
    return checked ? "ok" : checked.error().message;
}

json tpuPool(const char *machine, const char *topology, int nodes)
{
    json pool{{"config", {{"machineType", machine}}}, {"initialNodeCount", nodes}};
    if (topology)
        pool["placementPolicy"] = {{"tpuTopology", topology}};
    return pool;
}

PoolSpec specOf(const json &pool, const char *zone = "us-east5-b")
{
    PoolSurroundings surroundings;
    surroundings.location = zone;
    surroundings.zones = {zone};
    surroundings.version = "1.34.4-gke.1047000";
    return poolRequestOf(pool, surroundings, gke(), compute())->spec;
}

} // namespace

class TestGkeRules : public QObject
{
    Q_OBJECT

private slots:
    void aSliceHasItsChipsOverChipsPerVm_data();
    void aSliceHasItsChipsOverChipsPerVm();
    void singleHostPoolsTakeNoTopology();
    void acceleratorsAreOnlyInTheirZones();
    void gpusBelongToTheirMachines();
    void slicesAreResizedToNothingElse();
    void autoscaledSlicesAreAllOrNothing();
    void flexStartHasItsConditions();
    void queuedPoolsBeginEmpty();
    void versionsAreResolved_data();
    void versionsAreResolved();
    void newTpusNeedNewVersions();
    void namesAreChecked();
    void nodesAreNotNewerThanTheirControlPlane();
    void aPoolReadBackIsTheSame();
    void topologiesAreArithmetic();
    void theCatalogueAgreesWithItself();
};

void TestGkeRules::aSliceHasItsChipsOverChipsPerVm_data()
{
    QTest::addColumn<QString>("machine");
    QTest::addColumn<QString>("topology");
    QTest::addColumn<QString>("zone");
    QTest::addColumn<int>("nodes");
    QTest::newRow("v6e 4x4") << "ct6e-standard-4t"
                             << "4x4"
                             << "us-east5-b" << 4;
    QTest::newRow("v6e 2x4 of two VMs") << "ct6e-standard-4t"
                                        << "2x4"
                                        << "us-east5-b" << 2;
    QTest::newRow("v6e 16x16") << "ct6e-standard-4t"
                               << "16x16"
                               << "us-east5-b" << 64;
    QTest::newRow("v4 2x2x4") << "ct4p-hightpu-4t"
                              << "2x2x4"
                              << "us-central2-b" << 4;
    QTest::newRow("v4 4x4x12") << "ct4p-hightpu-4t"
                               << "4x4x12"
                               << "us-central2-b" << 48;
    QTest::newRow("v5p 4x8x8") << "ct5p-hightpu-4t"
                               << "4x8x8"
                               << "us-east5-a" << 64;
}

void TestGkeRules::aSliceHasItsChipsOverChipsPerVm()
{
    QFETCH(QString, machine);
    QFETCH(QString, topology);
    QFETCH(QString, zone);
    QFETCH(int, nodes);
    const std::string type = machine.toStdString();
    const std::string shape = topology.toStdString();
    QCOMPARE(verdict(tpuPool(type.c_str(), shape.c_str(), nodes), zone.toStdString()), std::string("ok"));
    for (const int wrong : {0, 1, nodes - 1, nodes + 1, nodes * 2}) {
        if (wrong == nodes)
            continue;
        const std::string said = verdict(tpuPool(type.c_str(), shape.c_str(), wrong), zone.toStdString());
        const std::string words = "Initial node count " + std::to_string(wrong)
            + " is not a valid size of TPU pod slice with topology \"" + shape + "\"";
        QVERIFY2(said.starts_with(words), said.c_str());
    }
}

void TestGkeRules::singleHostPoolsTakeNoTopology()
{
    const std::string words
        = "TPU topology can't be specified with single-host TPU slice pool; please remove "
          "the tpu_topology from the node pool creation request";
    QVERIFY(verdict(tpuPool("ct6e-standard-4t", "2x2", 1)).starts_with(words));
    QVERIFY(verdict(tpuPool("ct6e-standard-8t", "2x4", 1)).starts_with(words));
    QVERIFY(verdict(tpuPool("ct6e-standard-1t", "4x4", 1)).starts_with(words));
    QVERIFY(verdict(tpuPool("ct4p-hightpu-4t", "2x2x1", 1), "us-central2-b").starts_with(words));
    QCOMPARE(verdict(tpuPool("ct4p-hightpu-4t", nullptr, 1), "us-central2-b"), std::string("ok"));
    QCOMPARE(verdict(tpuPool("ct6e-standard-8t", nullptr, 3)), std::string("ok"));
    QVERIFY(verdict(tpuPool("ct6e-standard-4t", "3x5", 4)).find("is not valid for machine type")
            != std::string::npos);
    QVERIFY(verdict(tpuPool("ct4p-hightpu-4t", "8x4x4", 32), "us-central2-b").find("is not valid")
            != std::string::npos);
    QVERIFY(verdict(tpuPool("e2-medium", "4x4", 4)).find("has no TPUs") != std::string::npos);
}

void TestGkeRules::acceleratorsAreOnlyInTheirZones()
{
    QCOMPARE(
        verdict(tpuPool("ct6e-standard-4t", "4x4", 4), "us-central1-a"),
        std::string("Google Compute Engine: Machine type with name 'ct6e-standard-4t' does not exist in zone "
                    "'us-central1-a'."));
    QCOMPARE(verdict({{"config", {{"machineType", "a3-highgpu-8g"}}}}, "us-central1-a"), std::string("ok"));
    QVERIFY(verdict({{"config", {{"machineType", "a3-highgpu-8g"}}}}, "us-central2-b") != "ok");
    QVERIFY(verdict({{"config", {{"machineType", "e9-standard-2"}}}}) != "ok");
    json elsewhere = tpuPool("ct6e-standard-4t", "4x4", 4);
    elsewhere["locations"] = {"us-east1-d"};
    QVERIFY(verdict(elsewhere).find("node locations must be zones of region \"us-east5\"")
            != std::string::npos);
    elsewhere["locations"] = {"us-east5-a", "us-east5-b"};
    QVERIFY(verdict(elsewhere).find("exactly one zone") != std::string::npos);
}

void TestGkeRules::gpusBelongToTheirMachines()
{
    const auto pool = [](const char *machine, const char *type, const char *count) {
        return json{{"config",
                     {{"machineType", machine},
                      {"accelerators", {{{"acceleratorType", type}, {"acceleratorCount", count}}}}}}};
    };
    QCOMPARE(verdict(pool("a3-highgpu-8g", "nvidia-h100-80gb", "8"), "us-central1-a"), std::string("ok"));
    QVERIFY(
        verdict(pool("a3-highgpu-8g", "nvidia-h100-80gb", "4"), "us-central1-a").find("count 4 is not valid")
        != std::string::npos);
    QVERIFY(verdict(pool("a3-highgpu-8g", "nvidia-l4", "8"), "us-central1-a") != "ok");
    QVERIFY(verdict(pool("a3-highgpu-8g", "nvidia-nothing", "8"), "us-central1-a") != "ok");
    QVERIFY(verdict(pool("e2-standard-4", "nvidia-l4", "1"), "us-central1-a").find("N1")
            != std::string::npos);
    QVERIFY(verdict(pool("ct6e-standard-1t", "nvidia-l4", "1")).find("TPU machine type")
            != std::string::npos);
    QCOMPARE(specOf({{"config", {{"machineType", "g2-standard-24"}}}}, "us-central1-a").gpusPerNode, 2);
    QCOMPARE(specOf({{"config", {{"machineType", "g2-standard-24"}}}}, "us-central1-a").gpuAccelerator,
             std::string("nvidia-l4"));
}

void TestGkeRules::slicesAreResizedToNothingElse()
{
    const PoolSpec slice = specOf(tpuPool("ct6e-standard-4t", "4x4", 4));
    QCOMPARE(hostsOfSlice(slice), 4);
    QVERIFY(checkResize(slice, 5).error().message.starts_with(
        "Node count 5 is not a valid size of TPU pod slice"));
    QVERIFY(!checkResize(slice, 4).has_value()); // not even to itself
    const PoolSpec single = specOf(tpuPool("ct6e-standard-4t", nullptr, 2));
    QCOMPARE(hostsOfSlice(single), 0);
    QVERIFY(checkResize(single, 7).has_value());
    QVERIFY(!checkResize(single, -1).has_value());
}

void TestGkeRules::autoscaledSlicesAreAllOrNothing()
{
    json pool = tpuPool("ct6e-standard-4t", "4x4", 0);
    pool["autoscaling"] = {{"enabled", true}, {"minNodeCount", 0}, {"maxNodeCount", 4}};
    QCOMPARE(verdict(pool), std::string("ok"));
    pool["autoscaling"]["maxNodeCount"] = 8;
    QVERIFY(verdict(pool).starts_with(
        "Maximum node count 8 is not a valid size of TPU pod slice with topology \"4x4\""));
    pool["autoscaling"] = {{"enabled", true}, {"totalMaxNodeCount", 4}};
    QVERIFY(verdict(pool).starts_with(
        "Maximum node count 0 is not a valid size of TPU pod slice with topology \"4x4\""));
    pool["autoscaling"] = {{"enabled", true}, {"minNodeCount", 2}, {"maxNodeCount", 4}};
    QVERIFY(verdict(pool).starts_with("Minimum node count 2"));
    json plain{{"autoscaling", {{"enabled", true}, {"minNodeCount", 3}, {"maxNodeCount", 2}}}};
    QVERIFY(verdict(plain) != "ok");
}

void TestGkeRules::flexStartHasItsConditions()
{
    json pool = tpuPool("ct6e-standard-1t", nullptr, 0);
    pool["config"]["flexStart"] = true;
    pool["config"]["maxRunDuration"] = "604800s";
    pool["management"] = {{"autoRepair", false}};
    QCOMPARE(verdict(pool), std::string("Flex start node pools require autoscaling enabled."));
    pool["autoscaling"] = {{"enabled", true}, {"maxNodeCount", 2}};
    QCOMPARE(verdict(pool), std::string("ok"));
    pool["initialNodeCount"] = 1;
    QCOMPARE(verdict(pool), std::string("Flex start node pools require initial node count to be set to 0."));
    pool["initialNodeCount"] = 0;
    pool["config"]["spot"] = true;
    QVERIFY(verdict(pool) != "ok");
    pool["config"]["spot"] = false;
    pool["management"]["autoRepair"] = true;
    QVERIFY(verdict(pool).find("auto repair") != std::string::npos);
    pool["management"]["autoRepair"] = false;
    pool["autoscaling"]["locationPolicy"] = "BALANCED";
    QVERIFY(verdict(pool).find("location policy ANY") != std::string::npos);
    pool["autoscaling"]["locationPolicy"] = "ANY";
    for (const char *duration : {"599s", "604801s", "600", "tens", "-600s"}) {
        pool["config"]["maxRunDuration"] = duration;
        QVERIFY2(verdict(pool).find("between 10 minutes and 7 days") != std::string::npos, duration);
    }
    pool["config"]["maxRunDuration"] = "600s";
    QCOMPARE(verdict(pool), std::string("ok"));
}

void TestGkeRules::queuedPoolsBeginEmpty()
{
    json pool{{"queuedProvisioning", {{"enabled", true}}}, {"initialNodeCount", 0}};
    QVERIFY(verdict(pool).starts_with("Queued provisioning node pools require autoscaling"));
    pool["autoscaling"] = {{"enabled", true}, {"maxNodeCount", 2}};
    QCOMPARE(verdict(pool), std::string("ok"));
    pool["autoscaling"]["minNodeCount"] = 1;
    QVERIFY(verdict(pool) != "ok");
    pool["autoscaling"]["minNodeCount"] = 0;
    pool["placementPolicy"] = {{"type", "COMPACT"}};
    QVERIFY(verdict(pool).find("compact placement") != std::string::npos);
}

void TestGkeRules::versionsAreResolved_data()
{
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("channel");
    QTest::addColumn<QString>("outcome");
    QTest::newRow("nothing") << ""
                             << ""
                             << "1.34.4-gke.1047000";
    QTest::newRow("a channel's default") << ""
                                         << "STABLE"
                                         << "1.33.5-gke.1201000";
    QTest::newRow("a minor version") << "1.33"
                                     << "RAPID"
                                     << "1.33.5-gke.1201000";
    QTest::newRow("a patch version") << "1.33.2"
                                     << ""
                                     << "1.33.2-gke.1240000";
    QTest::newRow("the tutorial's") << "1.30.1"
                                    << ""
                                    << "1.30.1-gke.1329003";
    QTest::newRow("not a prefix of digits") << "1.3"
                                            << ""
                                            << "No valid versions with the prefix \"1.3\" found.";
    QTest::newRow("too new") << "1.99"
                             << ""
                             << "No valid versions with the prefix \"1.99\" found.";
    QTest::newRow("an unknown build") << "1.33.2-gke.7"
                                      << ""
                                      << "Master version \"1.33.2-gke.7\" is unsupported.";
    QTest::newRow("the latest of all") << "latest"
                                       << ""
                                       << "1.35.2-gke.1842000";
    QTest::newRow("the latest of a channel") << "latest"
                                             << "REGULAR"
                                             << "1.34.4-gke.1047000";
    QTest::newRow("an unknown channel") << ""
                                        << "WEEKLY"
                                        << "Release channel \"WEEKLY\" does not exist.";
}

void TestGkeRules::versionsAreResolved()
{
    QFETCH(QString, wanted);
    QFETCH(QString, channel);
    QFETCH(QString, outcome);
    const auto version = checkMasterVersion(wanted.toStdString(), channel.toStdString(), gke());
    QCOMPARE(version ? *version : version.error().message, outcome.toStdString());
}

void TestGkeRules::newTpusNeedNewVersions()
{
    const json pool = tpuPool("ct6e-standard-4t", "4x4", 4);
    QCOMPARE(verdict(pool, "us-east5-b", "1.31.2-gke.1384000"), std::string("ok"));
    QVERIFY(verdict(pool, "us-east5-b", "1.30.14-gke.1150000").find("requires GKE version 1.31.2-gke.1115000")
            != std::string::npos);
}

void TestGkeRules::namesAreChecked()
{
    for (const char *good : {"a", "hello", "my-cluster-2", "abcdefghijklmnopqrstuvwxyz-0123456789-ab"})
        QVERIFY2(checkClusterName(good).has_value(), good);
    for (const char *bad :
         {"", "Hello", "1st", "-a", "a-", "a_b", "a.b", "../x", "abcdefghijklmnopqrstuvwxyz-0123456789-abc"})
        QVERIFY2(!checkClusterName(bad).has_value(), bad);
    QVERIFY(!checkLocation("us-centrall1", compute()).has_value());
    QVERIFY(checkLocation("us-central1", compute()).has_value());
    QVERIFY(checkLocation("us-central2-b", compute()).has_value());
}

void TestGkeRules::nodesAreNotNewerThanTheirControlPlane()
{
    const std::string master = "1.33.5-gke.1201000";
    QCOMPARE(*checkNodeVersion("", master, gke()), master);
    QCOMPARE(*checkNodeVersion("1.33.2", master, gke()), std::string("1.33.2-gke.1240000"));
    QVERIFY(!checkNodeVersion("1.34", master, gke()).has_value());
    QVERIFY(!checkNodeVersion("1.30", master, gke()).has_value());
    QVERIFY(checkNodeVersion("1.31", master, gke()).has_value());
}

void TestGkeRules::aPoolReadBackIsTheSame()
{
    json pool = tpuPool("ct6e-standard-4t", "4x4", 4);
    pool["config"]["labels"] = {{"a", "b"}};
    pool["config"]["taints"] = {{{"key", "team"}, {"value", "x"}, {"effect", "NO_SCHEDULE"}},
                                {{"key", "google.com/tpu"}, {"value", "present"}, {"effect", "NO_SCHEDULE"}}};
    pool["config"]["spot"] = true;
    const PoolSpec spec = specOf(pool);
    QCOMPARE(spec.nodeCount, 4);
    QCOMPARE(spec.tpuTopology, std::string("4x4"));
    QCOMPARE(spec.tpuAccelerator, std::string("tpu-v6e-slice"));
    QCOMPARE(spec.tpuChipsPerNode, 4);
    QVERIFY(spec.isMultiHost);
    QVERIFY(spec.provisioning == Provisioning::Spot);
    QCOMPARE(spec.taints.size(), std::size_t{1}); // the machine's own comes with the machine
    QCOMPARE(spec.taints[0].effect, std::string("NoSchedule"));
    const PoolSpec single = specOf(tpuPool("ct4p-hightpu-4t", nullptr, 1), "us-central2-b");
    QVERIFY(!single.isMultiHost);
    QCOMPARE(single.tpuTopology, std::string("2x2x1"));
}

void TestGkeRules::topologiesAreArithmetic()
{
    QCOMPARE(chipsOfTopology("4x4").value_or(0), 16);
    QCOMPARE(chipsOfTopology("2x2x4").value_or(0), 16);
    for (const char *bad : {"", "4", "4x", "x4", "4x-4", "0x4", "4x4x4x4", "4 x4", "a", "99999x99999"})
        QVERIFY2(!chipsOfTopology(bad).has_value(), bad);
    const TpuMachine &v4 = *gke().tpuMachine("ct4p-hightpu-4t");
    QVERIFY(isSliceTopology(v4, "4x4x256"));
    QVERIFY(!isSliceTopology(v4, "4x4x260")); // one cube too many
    QVERIFY(!isSliceTopology(v4, "4x8x4"));
    QVERIFY(!isSliceTopology(v4, "2x2x1"));
}

void TestGkeRules::theCatalogueAgreesWithItself()
{
    QVERIFY(!gke().versions().empty());
    for (const std::string &version : gke().versions())
        QVERIFY(GkeVersion::parse(version).has_value());
    for (const ReleaseChannel &channel : gke().channels()) {
        QVERIFY(std::find(channel.versions.begin(), channel.versions.end(), channel.defaultVersion)
                != channel.versions.end());
    }
    for (const TpuFamily &family : gke().tpus()) {
        const Accelerator *accelerator = compute().accelerator(family.name);
        QVERIFY2(accelerator != nullptr, family.name.c_str());
        for (const TpuMachine &machine : family.machines) {
            const auto type = compute().machine(machine.name);
            QVERIFY2(type.has_value(), machine.name.c_str());
            QCOMPARE(static_cast<int>(type->acceleratorCount), machine.chips);
            QCOMPARE(chipsOfTopology(machine.singleTopology).value_or(0), machine.chips);
            for (const std::string &slice : machine.slices)
                QVERIFY(chipsOfTopology(slice).value_or(0) > machine.chips);
        }
    }
    QVERIFY(!GkeCatalog::parse("versions: [1").has_value());
    QVERIFY(!GkeCatalog::parse("{}").has_value());
}

QTEST_GUILESS_MAIN(TestGkeRules)
#include "tst_gke_rules.moc"
