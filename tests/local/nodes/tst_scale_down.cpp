// Nodes that are hardly used go, with the real scheduler, controllers and eviction API.

#include "cluster/local/nodes/autoscaler_status.h"
#include "tests/local/nodes/autoscaler_stand.h"

#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace cluster;
using namespace cluster::local;
using tests::autoscaledPool;
using tests::podOf;
using Json = nlohmann::json;

namespace {

constexpr int patience = 120000;

/// A Deployment whose pods end at once when they are evicted: there is no kubelet to say so.
Json deployment(const std::string &name, int replicas, const char *cpu)
{
    Json spec = podOf(name, cpu)["spec"];
    spec["terminationGracePeriodSeconds"] = 0;
    return Json{{"metadata", {{"name", name}}},
                {"spec",
                 {{"replicas", replicas},
                  {"selector", {{"matchLabels", {{"app", name}}}}},
                  {"template", {{"metadata", {{"labels", {{"app", name}}}}}, {"spec", std::move(spec)}}}}}};
}

} // namespace

class TestScaleDown : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_stand = std::make_unique<tests::AutoscalerStand>(
            std::vector{autoscaledPool("plain", "e2-standard-4", 3)});
        if (!m_stand->missing().empty())
            QSKIP(m_stand->missing().c_str());
        QVERIFY2(m_stand->failure().empty(), m_stand->failure().c_str());
    }

    void init()
    {
        if (m_stand->missing().empty())
            m_stand->start(false);
    }

    void cleanup()
    {
        if (!m_stand->missing().empty())
            return;
        for (const Json &one : all(deployments()))
            (void)client().remove(deployments().named(one["metadata"]["name"].get<std::string>()));
        QTRY_VERIFY_WITH_TIMEOUT(all(coreV1("pods", "default")).empty(), patience);
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->pools().nodes("plain").empty(), patience);
        m_stand->stop();
    }

    void cleanupTestCase() { m_stand.reset(); }

    void aLittleUsedNodeIsEmptiedAndGoes()
    {
        const auto [leaving, pod] = halfEmptyPair();
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("plain").size(), std::size_t{1}, patience);
        QTRY_VERIFY_WITH_TIMEOUT(isHome("a") && isHome("b"), patience);
        const std::string gone
            = m_stand->pools().nodes("plain").front() == leaving.front() ? leaving.back() : leaving.front();
        QTRY_COMPARE_WITH_TIMEOUT(eventOfReason("Pod", "ScaleDown"),
                                  std::string("deleting pod for node scale down"), patience);
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->eventOf(AutoscalerStatus::name, "ScaleDown", "kube-system"),
                                  "Scale-down: node " + gone + " removed with drain", patience);
        QVERIFY(eventsOf(gone).contains("marked the node as toBeDeleted/unschedulable"));
        QVERIFY(eventsOf(gone).contains("nodes removed by cluster autoscaler"));
    }

    void aBudgetKeepsTheNodeUntilItAllowsOneToGo()
    {
        const ResourcePath budgets = apiGroup("policy", "v1", "poddisruptionbudgets", "default");
        for (const char *name : {"a", "b"})
            QVERIFY(
                client()
                    .create(budgets,
                            Json{{"metadata", {{"name", name}}},
                                 {"spec",
                                  {{"maxUnavailable", 0}, {"selector", {{"matchLabels", {{"app", name}}}}}}}})
                    .has_value());
        halfEmptyPair();
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->hasLogged("no.scale.down.node.pod.not.enough.pdb"), patience);
        QCOMPARE(m_stand->pools().nodes("plain").size(), std::size_t{2});
        for (const char *name : {"a", "b"})
            QVERIFY(client()
                        .patch(budgets.named(name), PatchType::Merge, Json{{"spec", {{"maxUnavailable", 1}}}})
                        .has_value());
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("plain").size(), std::size_t{1}, patience);
        for (const char *name : {"a", "b"})
            QVERIFY(client().remove(budgets.named(name)).has_value());
    }

    void aPodWithoutAControllerKeepsItsNodeUntilItIsSaidToBeSafe()
    {
        const auto make = [this](const char *name, const char *cpu) {
            Json pod = podOf(name, cpu);
            pod["spec"]["terminationGracePeriodSeconds"] = 0; // no kubelet would end it
            return m_stand->make(pod);
        };
        QVERIFY(make("left", "2") && make("right", "2")); // too large for one node, and then not
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("left") && m_stand->isScheduled("right"), patience);
        m_stand->drop("right");
        QVERIFY(make("right", "500m"));
        QTRY_VERIFY_WITH_TIMEOUT(m_stand->isScheduled("right"), patience);
        // It may have gone beside the other: then its old node is empty and goes by itself.
        if (m_stand->nodeOf("right") != m_stand->nodeOf("left")) {
            QTRY_VERIFY_WITH_TIMEOUT(m_stand->hasLogged("no.scale.down.node.pod.not.backed.by.controller"),
                                     patience);
            const Json safe{{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"}};
            QVERIFY(client()
                        .patch(coreV1("pods", "default", "right"), PatchType::Merge,
                               Json{{"metadata", {{"annotations", safe}}}})
                        .has_value());
        }
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().nodes("plain").size(), std::size_t{1}, patience);
        m_stand->drop("left");
        m_stand->drop("right");
    }

    void theStatusIsWrittenAsGkeShowsIt()
    {
        QVERIFY(client().create(deployments(), deployment("a", 1, "500m")).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(isHome("a"), patience);
        const auto text = [this] {
            const auto map = client().get(coreV1("configmaps", "kube-system", AutoscalerStatus::name));
            return map ? map->at("data").value("status", std::string()) : std::string();
        };
        QTRY_VERIFY_WITH_TIMEOUT(text().find("cloudProviderTarget: 1") != std::string::npos, patience);
        const std::string status = text();
        for (const char *words :
             {"autoscalerStatus: Running\n", "clusterWide:\n  health:\n", "    status: Healthy\n",
              "nodeGroups:\n- health:\n", "    maxSize: 3\n    minSize: 0\n",
              "  name: https://www.googleapis.com/compute/v1/projects/my-project/zones/europe-west4-a/"
              "instanceGroups/gke-c1-plain-"})
            QVERIFY2(status.find(words) != std::string::npos, (words + ("\n" + status)).c_str());
    }

    void podsMoveToAnEarlierRuleOfTheirClassWhenItCanBeHadAgain()
    {
        m_stand->scaler().isOutOfStock = true;
        const Json definition = Json::parse(R"({"apiVersion":"cloud.google.com/v1","kind":"ComputeClass",
            "metadata":{"name":"thrifty"},"spec":{"nodePoolAutoCreation":{"enabled":true},
            "activeMigration":{"optimizeRulePriority":true},
            "priorities":[{"machineFamily":"e2","spot":true},{"machineFamily":"e2"}]}})");
        const ResourcePath classes = apiGroup("cloud.google.com", "v1", "computeclasses");
        const auto isThere = [&] { // the definition is served a moment after it was made
            (void)client().create(classes, definition);
            return client().get(classes.named("thrifty")).has_value();
        };
        QTRY_VERIFY_WITH_TIMEOUT(isThere(), patience);
        Json moving = deployment("a", 1, "1");
        moving["spec"]["template"]["spec"]["nodeSelector"] = {{"cloud.google.com/compute-class", "thrifty"}};
        QVERIFY(client().create(deployments(), moving).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(isHome("a"), patience);
        QVERIFY(!isSpot(nodeOfApp("a")));
        QTRY_COMPARE_WITH_TIMEOUT(health("thrifty"), std::string("Crd is healthy."), patience);
        QTRY_COMPARE_WITH_TIMEOUT(firstCondition("thrifty"), std::string("ProvisioningSuspended"), patience);
        m_stand->scaler().isOutOfStock = false;
        QTRY_VERIFY_WITH_TIMEOUT(isHome("a") && isSpot(nodeOfApp("a")), patience);
        (void)client().remove(deployments().named("a"));
        QTRY_COMPARE_WITH_TIMEOUT(m_stand->pools().pools().size(), std::size_t{1}, patience);
    }

private:
    KubeClient &client() { return m_stand->client(); }

    std::vector<Json> all(const ResourcePath &path, const KubeListOptions &which = {})
    {
        Result<KubeList> list = client().list(path, which);
        return list ? std::move(list->items) : std::vector<Json>();
    }

    static ResourcePath deployments() { return apiGroup("apps", "v1", "deployments", "default"); }

    /// Two nodes, each with one pod that takes less than half of it.
    std::pair<std::vector<std::string>, std::string> halfEmptyPair()
    {
        (void)client().create(deployments(), deployment("a", 2, "1900m"));
        (void)client().create(deployments(), deployment("b", 1, "1900m"));
        [&] { QTRY_COMPARE_WITH_TIMEOUT(scheduled(), std::size_t{3}, patience); }();
        // The one of "a" that shares no node with "b" stays: the other's deletion cost is the lower.
        for (const Json &pod : all(coreV1("pods", "default"))) {
            const bool isBeside
                = pod["spec"]["nodeName"] == nodeOfApp("b") || countOn(pod["spec"]["nodeName"]) > 1;
            const Json cost{{"controller.kubernetes.io/pod-deletion-cost", isBeside ? "-10" : "10"}};
            (void)client().patch(coreV1("pods", "default", pod["metadata"]["name"].get<std::string>()),
                                 PatchType::Merge, Json{{"metadata", {{"annotations", cost}}}});
        }
        markRunning();
        (void)client().patch(deployments().named("a"), PatchType::Merge, Json{{"spec", {{"replicas", 1}}}});
        [&] { QTRY_COMPARE_WITH_TIMEOUT(scheduled(), std::size_t{2}, patience); }();
        return {m_stand->pools().nodes("plain"), "a"};
    }

    /// Budgets count only pods that are ready; there is no kubelet here to say so.
    void markRunning()
    {
        const Json ready{{"type", "Ready"}, {"status", "True"}};
        for (const Json &pod : all(coreV1("pods", "default")))
            (void)client().patch(
                coreV1("pods", "default", pod["metadata"]["name"].get<std::string>()).sub("status"),
                PatchType::Strategic,
                Json{{"status", {{"phase", "Running"}, {"conditions", Json::array({ready})}}}});
    }

    std::size_t scheduled()
    {
        const std::vector<Json> pods = all(coreV1("pods", "default"));
        return static_cast<std::size_t>(
            std::ranges::count_if(pods, [](const Json &pod) { return pod["spec"].contains("nodeName"); }));
    }

    int countOn(const Json &node)
    {
        const std::vector<Json> pods = all(coreV1("pods", "default"));
        return static_cast<int>(std::ranges::count_if(
            pods, [&](const Json &pod) { return pod["spec"].value("nodeName", Json()) == node; }));
    }

    std::string nodeOfApp(const std::string &app)
    {
        KubeListOptions list;
        list.labelSelector = "app=" + app;
        for (const Json &pod : all(coreV1("pods", "default"), list)) {
            if (pod["spec"].contains("nodeName") && !pod["metadata"].contains("deletionTimestamp"))
                return pod["spec"]["nodeName"].get<std::string>();
        }
        return {};
    }

    /// Its pod has a node that is there.
    bool isHome(const std::string &app)
    {
        const std::string node = nodeOfApp(app);
        return !node.empty() && client().get(coreV1("nodes").named(node)).has_value();
    }

    bool isSpot(const std::string &node)
    {
        if (node.empty()) // its pod is between two nodes
            return false;
        const auto object = client().get(coreV1("nodes").named(node));
        return object && object->at("metadata").at("labels").contains("cloud.google.com/gke-spot");
    }

    std::set<std::string> eventsOf(const std::string &object)
    {
        KubeListOptions list;
        list.fieldSelector = "involvedObject.name=" + object;
        std::set<std::string> messages;
        for (const Json &event : all(coreV1("events", "default"), list))
            messages.insert(event.value("message", std::string()));
        return messages;
    }

    std::string eventOfReason(const std::string &kind, const std::string &reason)
    {
        KubeListOptions list;
        list.fieldSelector = "involvedObject.kind=" + kind + ",reason=" + reason;
        const std::vector<Json> events = all(coreV1("events", "default"), list);
        return events.empty() ? std::string() : events.front().value("message", std::string());
    }

    Json statusOf(const std::string &name)
    {
        const auto object = client().get(apiGroup("cloud.google.com", "v1", "computeclasses").named(name));
        return object ? object->value("status", Json::object()) : Json::object();
    }

    std::string health(const std::string &name)
    {
        const Json conditions = statusOf(name).value("conditions", Json::array());
        return conditions.empty() ? std::string() : conditions[0].value("message", std::string());
    }

    /// Of the class's first priority.
    std::string firstCondition(const std::string &name)
    {
        const Json priorities = statusOf(name).value("priorityStatuses", Json::array());
        if (priorities.empty() || priorities[0]["conditions"].empty())
            return {};
        return priorities[0]["conditions"][0].value("type", std::string());
    }

    std::unique_ptr<tests::AutoscalerStand> m_stand;
};

QTEST_GUILESS_MAIN(TestScaleDown)
#include "tst_scale_down.moc"
