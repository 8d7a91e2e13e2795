// The definition of ComputeClass as the real apiserver enforces it, and the status of one.

#include "cluster/local/nodes/compute_class.h"
#include "cluster/local/nodes/compute_class_status.h"

#include "tests/local/support/real_plane.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

Json classOf(const std::string &name, const char *spec)
{
    return Json{{"apiVersion", "cloud.google.com/v1"},
                {"kind", "ComputeClass"},
                {"metadata", {{"name", name}}},
                {"spec", Json::parse(spec)}};
}

const std::vector<MachineOffer> offers{
    {"e2-standard-4", {4, 16}, {}, 0, {}, 0, {"europe-west4-a", "europe-west4-b"}},
    {"ct6e-standard-4t", {180, 720}, {}, 0, "tpu-v6e-slice", 4, {"europe-west4-a"}}};

ClassSurroundings around()
{
    ClassSurroundings result;
    result.offers = &offers;
    result.mayCreate = true;
    result.machine = [](const std::string &type) -> std::optional<MachineShape> {
        for (const MachineOffer &offer : offers) {
            if (offer.name == type)
                return offer.shape;
        }
        return type == "n2-standard-4" ? std::optional(MachineShape{4, 16}) : std::nullopt;
    };
    return result;
}

/// "Type/Reason: message" of the n-th condition.
std::string conditionOf(const Json &status, std::size_t n)
{
    const Json &all = status["conditions"];
    if (n >= all.size())
        return {};
    return all[n]["type"].get<std::string>() + '/' + all[n]["reason"].get<std::string>() + ": "
        + all[n]["message"].get<std::string>();
}

} // namespace

class TestComputeClass : public QObject
{
    Q_OBJECT

private slots:
    void whatIsWrongIsRefusedWithGkesWords_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("words"); // empty: it is taken
        const auto row = [](const char *name, const char *spec, const char *words) {
            QTest::newRow(name) << spec << words;
        };
        row("tutorial", R"({"nodePoolAutoCreation":{"enabled":true},
            "nodePoolConfig":{"dra":{"networking":{"enabled":true}}},
            "priorities":[{"machineType":"ct6e-standard-4t","acceleratorNetworkProfile":"auto"}]})",
            "");
        row("named pools", R"({"priorities":[{"nodepools":["a"]},{"nodepools":["b"]}],
            "whenUnsatisfiable":"DoNotScaleUp"})",
            "");
        row("many fields", R"({"priorities":[{"machineFamily":"n2","spot":true,"minCores":16,"minMemoryGb":64,
            "storage":{"bootDiskSize":100,"bootDiskType":"pd-balanced"},
            "nodeSystemConfig":{"linuxNodeConfig":{"sysctls":{"net.core.somaxconn":512}}},
            "reservations":{"affinity":"Specific","specific":[{"name":"r"}]}},
            {"gpu":{"count":1,"type":"nvidia-l4"}},{"tpu":{"count":8,"topology":"2x4","type":"tpu-v5-lite-device"}}],
            "activeMigration":{"optimizeRulePriority":true},"whenUnsatisfiable":"ScaleUpAnyway"})",
            "");
        row("type and family", R"({"priorities":[{"machineType":"e2-standard-4","machineFamily":"e2"}]})",
            "MachineFamily and MachineType cannot be set together");
        row("pools beside others", R"({"priorities":[{"nodepools":["a"],"spot":true}]})",
            "Nodepool field cannot be set along with other nodepool configuration fields");
        row("type and cores", R"({"priorities":[{"machineType":"e2-standard-4","minCores":4}]})",
            "MachineType cannot be set together with MinCores/MinMemoryGb");
        row("flex and spot", R"({"priorities":[{"flexStart":{"enabled":true},"spot":true}]})",
            "Flex Start provisioning model is incompatible with Spot");
        row("no reservation", R"({"priorities":[{"reservations":{"affinity":"Specific"}}]})",
            "At least 1 specific reservation required for specific affinity");
        row("no choice", R"({"priorities":[],"whenUnsatisfiable":"Sometimes"})",
            R"(Unsupported value: "Sometimes": supported values: "ScaleUpAnyway", "DoNotScaleUp")");
        row("no such driver", R"({"priorities":[{"gpu":{"type":"nvidia-l4","driverVersion":"newest"}}]})",
            R"(supported values: "default", "latest", "autoinstall-disabled")");
        row("profile", R"({"priorities":[{"acceleratorNetworkProfile":"Auto!"}]})",
            "acceleratorNetworkProfile must be a valid resource ID");
        row("nothing", R"({"priorities":[{}]})", "should have at least 1 properties");
        row("migration of nothing", R"({"priorities":[],"activeMigration":"yes"})", "must be of type object");
        row("scores", R"({"priorities":[{"machineFamily":"e2","priorityScore":1},{"machineFamily":"n2"}]})",
            "PriorityScore must be set for all priorities or for none of them");
        row("autopilot and pools", R"({"autopilot":{"enabled":true},"nodePoolAutoCreation":{"enabled":true},
            "priorities":[{"nodepools":["a"]}]})",
            "Nodepools priority cannot be used when Autopilot is enabled");
        row("too patient", R"({"priorities":[],"autoscalingPolicy":{"consolidationDelayMinutes":5000}})",
            "should be less than or equal to 1440");
    }

    void whatIsWrongIsRefusedWithGkesWords()
    {
        QFETCH(QString, spec);
        QFETCH(QString, words);
        if (!plane())
            QSKIP(m_plane->missing().c_str());
        const ResourcePath classes = apiGroup("cloud.google.com", "v1", "computeclasses");
        KubeWriteOptions options;
        const std::string name = "c" + std::to_string(++m_count);
        const auto made = m_plane->client().create(classes, classOf(name, spec.toUtf8()), options);
        if (words.isEmpty()) {
            QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
            QVERIFY(made->at("spec").contains("whenUnsatisfiable")); // by default
            return;
        }
        QVERIFY(!made);
        QCOMPARE(made.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(made.error().message.find(words.toStdString()) != std::string::npos,
                 made.error().message.c_str());
    }

    void aStatusSaysWhatIsWrong()
    {
        ClassSurroundings here = around();
        const UnixTime now{1000};
        const auto first = [&](const char *spec, std::size_t n) {
            return conditionOf(computeClassStatus(classOf("c", spec), here, now), n);
        };
        QCOMPARE(first(R"({"priorities":[{"machineFamily":"e2"}]})", 0),
                 std::string("Health/Health: Crd is healthy."));
        QCOMPARE(first(R"({"priorities":[{"machineFamily":"x9"}]})", 0),
                 std::string("Health/Health: Crd is not healthy."));
        QCOMPARE(
            first(R"({"priorities":[{"machineFamily":"x9"}]})", 1),
            std::string("RuleMisconfigured/MachineFamilyNotFound: Machine family x9 is not a known family."));
        QCOMPARE(
            first(R"({"priorities":[{"machineType":"warp-9"}]})", 1),
            std::string("RuleMisconfigured/MachineTypeNotFound: Machine type warp-9 is not a known type."));
        QVERIFY(first(R"({"priorities":[{"machineType":"n2-standard-4"}]})", 1)
                    .starts_with("RuleMisconfigured/UnavailableMachineType: Machine type n2-standard-4"));
        QCOMPARE(
            first(R"({"priorities":[{"nodepools":["a"]}]})", 1),
            std::string("CrdMisconfigured/NodePoolNotExist: Nodepool a specified by name has autoscaling "
                        "disabled or doesn't exist in the cluster."));
        QCOMPARE(
            first(R"({"priorities":[{"machineFamily":"e2","location":{"zones":["mars-a"]}}]})", 1),
            std::string("CrdMisconfigured/LocationNotEnabledForAutoprovisioning: Location mars-a specified "
                        "in zonal preferences is not eligible for autoprovisioning. Available locations: "
                        "[europe-west4-a europe-west4-b]"));
        here.mayCreate = false;
        QVERIFY(first(R"({"priorities":[{"machineFamily":"e2"}]})", 1)
                    .starts_with("CrdMisconfigured/NapDisabledAndNoMatchingNodegroups"));
    }

    void aPriorityThatIsOutOfStockIsSuspendedAndKeepsItsTime()
    {
        ClassSurroundings here = around();
        here.rules = {{{}, "OutOfResources", UnixTime(1790000000), true}, {"nap-1", {}, {}, false}};
        Json object
            = classOf("c", R"({"priorities":[{"machineFamily":"e2","spot":true},{"machineFamily":"e2"}]})");
        object["status"] = computeClassStatus(object, here, UnixTime(1000));
        const Json &first = object["status"]["priorityStatuses"][0];
        QVERIFY(first["identifier"] == "0");
        QVERIFY(first["conditions"][0]["type"] == "ProvisioningSuspended");
        QVERIFY(first["conditions"][0]["reason"] == "OutOfResources");
        QCOMPARE(
            first["conditions"][0]["message"].get<std::string>(),
            std::string("NodeProvisioning associated with this priority failed due to the OutOfResources "
                        "error. Backing off the priority until 2026-09-21 14:13:20 UTC."));
        QVERIFY(object["status"]["priorityStatuses"][1]["conditions"][0]["type"]
                == "NodeProvisioningInProgress");
        QVERIFY(computeClassStatus(object, here, UnixTime(2000)) == object["status"]);
    }

private:
    /// Made at the first use, without controllers. False: it is missing.
    bool plane()
    {
        if (!m_plane) {
            m_plane = std::make_unique<tests::RealPlane>(false);
            if (m_plane->missing().empty() && m_plane->failure().empty()) {
                (void)installComputeClasses(m_plane->client(), {});
                const ResourcePath classes = apiGroup("cloud.google.com", "v1", "computeclasses");
                [&] { QTRY_VERIFY_WITH_TIMEOUT(m_plane->client().list(classes).has_value(), 60000); }();
            }
        }
        return m_plane->missing().empty();
    }

    std::unique_ptr<tests::RealPlane> m_plane;
    int m_count = 0;
};

QTEST_GUILESS_MAIN(TestComputeClass)
#include "tst_compute_class.moc"
