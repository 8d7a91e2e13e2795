// The autoscaler with the real scheduler and controllers.

#include "tests/local/nodes/autoscaler_stand.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using tests::autoscaledPool;
using tests::podOf;
using Json = nlohmann::json;

namespace {

PoolSpec slicePool()
{
    PoolSpec slice = autoscaledPool("v6e", "ct6e-standard-4t", 4);
    slice.tpuTopology = "4x4";
    slice.tpuAccelerator = "tpu-v6e-slice";
    slice.tpuChipsPerNode = 4;
    slice.isMultiHost = true;
    return slice;
}

Json tpuPod(const std::string &name)
{
    Json pod = podOf(name, "1");
    pod["spec"]["nodeSelector"] = {{"cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice"},
                                   {"cloud.google.com/gke-tpu-topology", "4x4"}};
    pod["spec"]["tolerations"] = {{{"key", "google.com/tpu"}, {"operator", "Exists"}}};
    pod["spec"]["containers"][0]["resources"]["limits"] = {{"google.com/tpu", "4"}};
    return pod;
}

} // namespace

class TestAutoscaler : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_stand = std::make_unique<tests::AutoscalerStand>(
            std::vector{slicePool(), autoscaledPool("plain", "e2-standard-4", 3)});
        if (!m_stand->missing().empty())
            QSKIP(m_stand->missing().c_str());
        QVERIFY2(m_stand->failure().empty(), m_stand->failure().c_str());
    }

    void init()
    {
        if (m_stand->missing().empty())
            m_stand->start(false);
    }

    void cleanup() { m_stand->stop(); }

    void cleanupTestCase() { m_stand.reset(); }

    void podsOfASliceMakeTheWholeSliceAppearAndItGoesWhenUnused()
    {
        for (int i = 0; i < 2; ++i)
            QVERIFY(m_stand->make(tpuPod("tpu-" + std::to_string(i))));
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("tpu-0") && m_stand->isScheduled("tpu-1"), 120000);
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("v6e").size(), std::size_t{4}, 60000);
        const std::string said = m_stand->eventOf("tpu-0", "TriggeredScaleUp");
        QVERIFY2(said.starts_with("pod triggered scale-up: [{https://www.googleapis.com/compute/v1/projects/"
                                  "my-project/zones/europe-west4-a/instanceGroups/gke-tpu-"),
                 said.c_str());
        QVERIFY2(said.ends_with("-grp 0->4 (max: 4)}]"), said.c_str());
        m_stand->drop("tpu-0");
        m_stand->drop("tpu-1");
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->pools().nodes("v6e").empty(), 120000);
        QCOMPARE(m_stand->pools().pools().size(), std::size_t{2}); // the user's pool stays, without nodes
    }

    void onlyAsManyNodesAsPodsNeedComeAndTheBusyOneStays()
    {
        for (const char *name : {"a", "b", "c"})
            QVERIFY(m_stand->make(podOf(name, "1800m")));
        QTRY_VERIFY_WITH_TIMEOUT(
            m_stand->isScheduled("a") && m_stand->isScheduled("b") && m_stand->isScheduled("c"), 120000);
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("plain").size(), std::size_t{2}, 60000);
        const std::string busy = m_stand->nodeOf("c");
        for (const char *name : {"a", "b"}) {
            if (m_stand->nodeOf(name) != busy)
                m_stand->drop(name);
        }
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("plain"), std::vector<std::string>{busy}, 120000);
        QVERIFY(m_stand->isScheduled("c"));
        for (const char *name : {"a", "b", "c"})
            m_stand->drop(name);
    }

    void whatNoPoolHelpsIsTold()
    {
        QVERIFY(m_stand->make(podOf("huge", "64")));
        QTRY_VERIFY_WITH_TIMEOUT(!m_stand->eventOf("huge", "NotTriggerScaleUp").empty(), 120000);
        const std::string said = m_stand->eventOf("huge", "NotTriggerScaleUp");
        QVERIFY2(said.starts_with("pod didn't trigger scale-up: ")
                     && said.find("Insufficient cpu") != std::string::npos,
                 said.c_str());
        m_stand->drop("huge");
    }

    void withoutAPoolOneIsMadeAndGoesAgain()
    {
        m_stand->start(true);
        for (int i = 0; i < 5; ++i) // one more than a slice has hosts: the user's pool and one of their own
            QVERIFY(m_stand->make(tpuPod("auto-" + std::to_string(i))));
        for (int i = 0; i < 5; ++i)
            QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("auto-" + std::to_string(i)), 120000);
        std::string made;
        for (const PoolSpec &spec : m_stand->pools().pools()) {
            if (spec.isAutoCreated)
                made = spec.name;
        }
        QVERIFY2(made.starts_with("nap-ct6e-standard-4t-"), made.c_str());
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes(made).size(), std::size_t{4}, 60000);
        for (int i = 0; i < 5; ++i)
            m_stand->drop("auto-" + std::to_string(i));
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().pools().size(), std::size_t{2}, 120000);
    }

    void theNextRuleOfAClassIsTakenWhereTheFirstIsOutOfStock()
    {
        m_stand->scaler().isOutOfStock = true;
        const Json computeClass = Json::parse(R"({"apiVersion":"cloud.google.com/v1","kind":"ComputeClass",
            "metadata":{"name":"thrifty"},"spec":{"nodePoolAutoCreation":{"enabled":true},
            "priorities":[{"machineFamily":"e2","spot":true},{"machineFamily":"e2"}]}})");
        Result<Json> made = fail(ErrorCode::Unknown, "not tried");
        for (int i = 0; i < 100 && !made; ++i) { // the definition is served a moment after it was made
            made = m_stand->client().create(apiGroup("cloud.google.com", "v1", "computeclasses"),
                                            computeClass);
            if (!made)
                QTest::qWait(200);
        }
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        Json pod = podOf("classy", "1");
        pod["spec"]["nodeSelector"] = {{"cloud.google.com/compute-class", "thrifty"}};
        QVERIFY(m_stand->make(pod));
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("classy"), 120000);
        QVERIFY(!m_stand->eventOf("classy", "FailedScaleUp").empty());
        const auto node = m_stand->client().get(coreV1("nodes").named(m_stand->nodeOf("classy")));
        QVERIFY(node->at("metadata").at("labels").at("cloud.google.com/compute-class") == "thrifty");
        QVERIFY(!node->at("metadata").at("labels").contains("cloud.google.com/gke-spot"));
        m_stand->drop("classy");
        m_stand->scaler().isOutOfStock = false;
    }

    void whatIsOutOfStockIsToldAndTheNextIsTried()
    {
        m_stand->scaler().isOutOfStock = true;
        m_stand->start(true);
        Json pod = podOf("spot", "1");
        pod["spec"]["nodeSelector"] = {{"cloud.google.com/gke-spot", "true"}};
        QVERIFY(m_stand->make(pod));
        QTRY_VERIFY_WITH_TIMEOUT(!m_stand->eventOf("spot", "FailedScaleUp").empty(), 120000);
        QVERIFY(m_stand->eventOf("spot", "FailedScaleUp").find("GCE out of resources") != std::string::npos);
        m_stand->scaler().isOutOfStock = false;
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("spot"),
                                 120000); // after the back-off, with its toleration
        m_stand->drop("spot");
    }

private:
    std::unique_ptr<tests::AutoscalerStand> m_stand;
};

QTEST_GUILESS_MAIN(TestAutoscaler)
#include "tst_autoscaler.moc"
