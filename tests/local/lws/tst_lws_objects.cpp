#include "cluster/local/lws/group_pod.h"
#include "cluster/local/lws/lws_admission.h"
#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_revision.h"
#include "cluster/local/lws/lws_validation.h"
#include "cluster/local/lws/typed_form.h"
#include "recorded_lws.h"

#include <QTest>
#include <set>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
using recorded::object;

namespace {

/// What the API server, its scheduler and its controllers add to what was sent; nothing else may be there.
bool isServersOwn(const std::string &path)
{
    static const std::set<std::string> fields{"creationTimestamp",
                                              "generation",
                                              "uid",
                                              "terminationMessagePath",
                                              "schedulerName",
                                              "terminationMessagePolicy",
                                              "imagePullPolicy",
                                              "restartPolicy",
                                              "terminationGracePeriodSeconds",
                                              "dnsPolicy",
                                              "securityContext",
                                              "timeoutSeconds",
                                              "periodSeconds",
                                              "successThreshold",
                                              "failureThreshold",
                                              "revisionHistoryLimit",
                                              "persistentVolumeClaimRetentionPolicy",
                                              "status",
                                              "clusterIPs",
                                              "type",
                                              "sessionAffinity",
                                              "ipFamilies",
                                              "ipFamilyPolicy",
                                              "internalTrafficPolicy",
                                              "updateStrategy"};
    return fields.contains(path.substr(path.rfind('/') + 1));
}

/// Empty, or where `stored` differs from what was `sent`.
QString difference(const json &sent, const json &stored, const std::string &path = {})
{
    if (sent.is_object() && stored.is_object()) {
        for (const auto &[key, value] : sent.items()) {
            if (!stored.contains(key))
                return QString::fromStdString(path + "/" + key + " is not in the recording: " + value.dump());
            if (const QString inner = difference(value, stored[key], path + "/" + key); !inner.isEmpty())
                return inner;
        }
        for (const auto &[key, value] : stored.items()) {
            if (!sent.contains(key) && !isServersOwn(path + "/" + key))
                return QString::fromStdString(path + "/" + key
                                              + " is only in the recording: " + value.dump());
        }
        return {};
    }
    if (sent.is_array() && stored.is_array() && sent.size() == stored.size()) {
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (const QString inner = difference(sent[i], stored[i], path + "/" + std::to_string(i));
                !inner.isEmpty())
                return inner;
        }
        return {};
    }
    return sent == stored
        ? QString()
        : QString::fromStdString(path + " is " + sent.dump() + ", recorded " + stored.dump());
}

/// A server without the feature MaxUnavailableStatefulSet drops it; metadata of templates is an object.
json asTheServerTakesIt(json statefulSet)
{
    json &spec = statefulSet["spec"];
    if (spec.contains("updateStrategy"))
        spec["updateStrategy"]["rollingUpdate"].erase("maxUnavailable");
    return statefulSet;
}

/// As the StatefulSet's controller sent it to the webhooks.
json withoutTheWebhook(json pod, bool hasOwnSubdomain = false)
{
    static const std::set<std::string> names{"LWS_LEADER_ADDRESS",    "LWS_GROUP_SIZE",  "LWS_WORKER_INDEX",
                                             "TPU_WORKER_HOSTNAMES",  "TPU_WORKER_ID",   "TPU_NAME",
                                             "TPU_PROCESS_ADDRESSES", "TPU_PROCESS_PORT"};
    json &labels = pod["metadata"]["labels"];
    const bool isLeader = labels[lws_keys::workerIndex] == "0";
    labels.erase(lws_keys::subGroupIndex);
    labels.erase(lws_keys::subGroupKey);
    if (isLeader) {
        labels.erase(lws_keys::groupIndex);
        labels.erase(lws_keys::groupKey);
        pod["spec"].erase("affinity");
    } else {
        labels.erase(lws_keys::workerIndex);
    }
    if (hasOwnSubdomain)
        pod["spec"]["subdomain"] = "lr";
    for (json &container : pod["spec"]["containers"]) {
        json kept = json::array();
        for (const json &variable : container["env"]) {
            if (!names.contains(variable["name"]))
                kept.push_back(variable);
        }
        container["env"] = kept;
        if (kept.empty())
            container.erase("env");
    }
    return pod;
}

json leaderPod(const std::string &file, const std::string &name)
{
    const json pod = object(file, "Pod", name);
    if (!pod.is_null())
        return pod;
    // Not recorded: as its StatefulSet and its workers tell.
    const json workers = object(file, "StatefulSet", name);
    json labels = workers["metadata"]["labels"];
    labels[lws_keys::workerIndex] = "0";
    return {{"metadata",
             {{"name", name},
              {"namespace", workers["metadata"]["namespace"]},
              {"uid", "<uid>"},
              {"labels", labels}}},
            {"spec", json::object()}};
}

QString words(const Status &status)
{
    return status ? QString() : QString::fromStdString(status.error().message);
}

} // namespace

class TestLwsObjects : public QObject
{
    Q_OBJECT

private slots:
    void theWebhookFillsASetInAsTheRealOne_data()
    {
        QTest::addColumn<QString>("file");
        QTest::newRow("from a disk") << "tutorial3-hdml";
        QTest::newRow("downloaded") << "tutorial3-a3";
    }

    void theWebhookFillsASetInAsTheRealOne()
    {
        QFETCH(QString, file);
        const json stored = object(file.toStdString(), "LeaderWorkerSet", "vllm");
        QVERIFY(stored.is_object());
        json sent = stored;
        sent["spec"].erase("networkConfig");
        sent["spec"]["rolloutStrategy"].erase("rollingUpdateConfiguration");
        sent["spec"]["leaderWorkerTemplate"].erase("restartPolicy");
        sent["spec"]["leaderWorkerTemplate"]["workerTemplate"].erase("metadata");
        const json filled = recorded::admitted(sent);
        QCOMPARE(difference(filled["spec"], stored["spec"]), QString());
        QCOMPARE(QString::fromStdString(defaultsPatch(filled).dump()), QStringLiteral("[]"));
    }

    void theOldNameOfAPolicyIsReplaced()
    {
        json lws = recorded::withSchemaDefaults(object("others", "LeaderWorkerSet", "none"));
        lws["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "Default";
        QVERIFY(recorded::admitted(lws)["spec"]["leaderWorkerTemplate"]["restartPolicy"] == "None");
    }

    void revisionsAreTheRealOnes_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("name");
        QTest::newRow("from a disk") << "tutorial3-hdml"
                                     << "vllm-6f8bc4749-1";
        QTest::newRow("downloaded") << "tutorial3-a3"
                                    << "vllm-699677cc65-1";
    }

    void revisionsAreTheRealOnes()
    {
        QFETCH(QString, file);
        QFETCH(QString, name);
        const json lws = object(file.toStdString(), "LeaderWorkerSet", "vllm");
        const json stored = object(file.toStdString(), "ControllerRevision", name.toStdString());
        QVERIFY(stored.is_object());
        QCOMPARE(difference(newRevision(lws, {}), stored), QString());
        QVERIFY(isRevisionOf(stored, lws));
        QVERIFY(withRevision(lws, stored) == lws);
    }

    void keysOfRevisionsAreTheRealOnes_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("set");
        QTest::addColumn<int>("index");
        QTest::addColumn<QString>("key");
        QTest::newRow("g") << "others"
                           << "g" << 0 << "568567649";
        QTest::newRow("no restarts") << "others"
                                     << "none" << 0 << "794d47fc84";
        QTest::newRow("replicas and partition don't count") << "others"
                                                            << "p" << 0 << "568567649";
        QTest::newRow("another image") << "others"
                                       << "p" << 1 << "58577d484f";
        QTest::newRow("a surge does not count") << "others"
                                                << "s" << 0 << "568567649";
        QTest::newRow("exclusive topology") << "exclusive-topology"
                                            << "tl" << 0 << "6d94d48877";
        QTest::newRow("subgroups") << "subgroups"
                                   << "sub" << 0 << "fd9fdbd4";
        QTest::newRow("own subdomains") << "leader-ready"
                                        << "lr" << 0 << "6c54c5bc9b";
    }

    void keysOfRevisionsAreTheRealOnes()
    {
        QFETCH(QString, file);
        QFETCH(QString, set);
        QFETCH(int, index);
        QFETCH(QString, key);
        std::vector<json> sets;
        for (const json &lws : recorded::objects(file.toStdString())) {
            if (lws["kind"] == "LeaderWorkerSet" && lws["metadata"]["name"] == set.toStdString())
                sets.push_back(recorded::admitted(recorded::withSchemaDefaults(lws)));
        }
        QVERIFY(static_cast<int>(sets.size()) > index);
        QCOMPARE(QString::fromStdString(revisionKey(revisionData(sets[static_cast<std::size_t>(index)]))),
                 key);
    }

    void aRevisionIsNumberedAfterTheLast()
    {
        const json lws = object("tutorial3-a3", "LeaderWorkerSet", "vllm");
        const json first = newRevision(lws, {});
        const json second = newRevision(lws, {first}, "kept");
        QVERIFY(second["metadata"]["name"] == "vllm-699677cc65-2");
        QVERIFY(second["metadata"]["labels"][lws_keys::revision] == "kept");
        QVERIFY(revisionWith({first, second}, "699677cc65") == first);
        QVERIFY(revisionWith({first, second}, "other").is_null());
        QVERIFY(revisionWith({first, second}, "").is_null());
    }

    void aRevisionThatWasWrittenOtherwiseIsTheSame()
    {
        const json lws = object("tutorial3-a3", "LeaderWorkerSet", "vllm");
        json revision = newRevision(lws, {});
        revision["data"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["creationTimestamp"]
            = nullptr;
        QVERIFY(isRevisionOf(revision, lws));
        revision["data"]["spec"]["leaderWorkerTemplate"]["size"] = 3;
        QVERIFY(!isRevisionOf(revision, lws));
    }

    void leadersAreTheRealOnes_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("set");
        QTest::newRow("from a disk") << "tutorial3-hdml"
                                     << "vllm";
        QTest::newRow("downloaded") << "tutorial3-a3"
                                    << "vllm";
        QTest::newRow("exclusive topology") << "exclusive-topology"
                                            << "tl";
        QTest::newRow("own subdomains") << "leader-ready"
                                        << "lr";
    }

    json setOf(const std::string &file, const std::string &name)
    {
        if (file.starts_with("tutorial3"))
            return object(file, "LeaderWorkerSet", name);
        const json leaders = object(file, "StatefulSet", name);
        json lws = recorded::storedSet(file, name, leaders["metadata"]["namespace"]);
        const char *applied = "kubectl.kubernetes.io/last-applied-configuration";
        lws["metadata"]["annotations"][applied] = leaders["metadata"]["annotations"][applied];
        return lws;
    }

    void leadersAreTheRealOnes()
    {
        QFETCH(QString, file);
        QFETCH(QString, set);
        const json stored = object(file.toStdString(), "StatefulSet", set.toStdString());
        QVERIFY(stored.is_object());
        const json lws = setOf(file.toStdString(), set.toStdString());
        const std::string key = stored["metadata"]["labels"][lws_keys::revision];
        const json sent = leaderStatefulSet(lws, {0, 1}, key);
        QVERIFY(sent["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 1);
        QCOMPARE(difference(asTheServerTakesIt(sent), stored), QString());
        QVERIFY(stored["spec"]["updateStrategy"] == asTheServerTakesIt(sent)["spec"]["updateStrategy"]);
    }

    void workersAreTheRealOnes_data() { leadersAreTheRealOnes_data(); }

    void workersAreTheRealOnes()
    {
        QFETCH(QString, file);
        QFETCH(QString, set);
        const std::string name = set.toStdString() + "-0";
        const json stored = object(file.toStdString(), "StatefulSet", name);
        QVERIFY(stored.is_object());
        const json lws = setOf(file.toStdString(), set.toStdString());
        const json sent
            = workerStatefulSet(lws, leaderPod(file.toStdString(), name), newRevision(lws, {}), "tpu-v6e-a");
        QCOMPARE(difference(sent, stored), QString());
    }

    void workersAreOfTheLeadersRevision()
    {
        const json lws = object("tutorial3-a3", "LeaderWorkerSet", "vllm");
        const json leader = leaderPod("tutorial3-a3", "vllm-0");
        const json revision = newRevision(lws, {});
        json changed = lws;
        changed["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] = "new";
        QVERIFY(workerStatefulSet(changed, leader, revision, {})
                == workerStatefulSet(lws, leader, revision, {}));
    }

    void claimsArePassedOnWithoutWhatIsNotTheirs()
    {
        json lws = object("tutorial3-a3", "LeaderWorkerSet", "vllm");
        json &group = lws["spec"]["leaderWorkerTemplate"];
        group["volumeClaimTemplates"]
            = json::array({{{"metadata", {{"name", "data"}, {"labels", {{"a", "b"}}}}},
                            {"spec",
                             {{"accessModes", {"ReadWriteOnce"}},
                              {"storageClassName", "fast"},
                              {"volumeName", "x"},
                              {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}});
        group["persistentVolumeClaimRetentionPolicy"] = {{"whenDeleted", "Delete"}, {"whenScaled", "Retain"}};
        const json leader = leaderPod("tutorial3-a3", "vllm-0");
        for (const json &sent : {leaderStatefulSet(lws, {0, 1}, "k"),
                                 workerStatefulSet(lws, leader, newRevision(lws, {}), {})}) {
            const json claim = sent["spec"]["volumeClaimTemplates"][0];
            QVERIFY(claim["metadata"] == (json{{"name", "data"}, {"namespace", "default"}}));
            QVERIFY(claim["spec"]
                    == (json{{"accessModes", json::array({"ReadWriteOnce"})},
                             {"storageClassName", "fast"},
                             {"resources", {{"requests", {{"storage", "1Gi"}}}}}}));
            QVERIFY(sent["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete");
        }
    }

    void servicesAreTheRealOnes()
    {
        const json shared = object("tutorial3-hdml", "Service", "vllm");
        QCOMPARE(difference(sharedService(object("tutorial3-hdml", "LeaderWorkerSet", "vllm")), shared),
                 QString());
        const json own = object("leader-ready", "Service", "lr-0");
        const json lws = setOf("leader-ready", "lr");
        QCOMPARE(difference(groupService(lws, leaderPod("leader-ready", "lr-0")), own), QString());
    }

    void podsAreLeftAsTheRealWebhookLeavesThem_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("name");
        const auto row = [](const char *file, const char *pod) { QTest::newRow(pod) << file << pod; };
        row("tutorial3-hdml", "vllm-0");
        row("tutorial3-hdml", "vllm-0-1");
        row("exclusive-topology", "tl-0");
        row("exclusive-topology", "tl-0-1");
        row("subgroups", "sub-0");
        row("subgroups", "sub-0-1");
        row("subgroups", "sub-0-3");
        row("leader-ready", "lr-0-1");
    }

    void podsAreLeftAsTheRealWebhookLeavesThem()
    {
        QFETCH(QString, file);
        QFETCH(QString, name);
        const json stored = object(file.toStdString(), "Pod", name.toStdString());
        QVERIFY(stored.is_object());
        const json sent = withoutTheWebhook(stored);
        const json review{{"request",
                           {{"uid", "u"},
                            {"operation", "CREATE"},
                            {"namespace", stored["metadata"]["namespace"]},
                            {"object", sent}}}};
        const auto answer = lwsAdmission("/mutate--v1-pod", review.dump());
        QVERIFY(answer.has_value());
        QCOMPARE(QString::fromStdString(answer->refusal), QString());
        const auto patch = groupPodPatch(sent, stored["metadata"]["namespace"]);
        QVERIFY(patch.has_value());
        QVERIFY(sent != stored);
        QCOMPARE(difference(sent.patch(*patch), stored), QString());
        QCOMPARE(difference(stored, sent.patch(*patch)), QString());
    }

    void aLeaderMayHaveASubdomainOfItsOwn()
    {
        json pod = withoutTheWebhook(object("tutorial3-hdml", "Pod", "vllm-0"));
        pod["metadata"]["annotations"][lws_keys::subdomainPolicy] = "UniquePerReplica";
        const json placed = pod.patch(*groupPodPatch(pod, "default"));
        QVERIFY(placed["spec"]["subdomain"] == "vllm-0");
        QVERIFY(placed["spec"]["containers"][0]["env"][0]["value"] == "vllm-0.vllm-0.default");
    }

    void theUsersVariablesOfTheseNamesGo()
    {
        json pod = withoutTheWebhook(object("tutorial3-hdml", "Pod", "vllm-0"));
        pod["spec"]["containers"][0]["env"] = json::array({{{"name", "MINE"}, {"value", "$(LWS_GROUP_SIZE)"}},
                                                           {{"name", "LWS_GROUP_SIZE"}, {"value", "9"}}});
        const json env = pod.patch(*groupPodPatch(pod, "default"))["spec"]["containers"][0]["env"];
        QCOMPARE(env.size(), std::size_t{4});
        QVERIFY(env[1] == (json{{"name", "LWS_GROUP_SIZE"}, {"value", "2"}}));
        QVERIFY(env[3]["name"] == "MINE");
    }

    void onlyWorkersMayHaveTpus()
    {
        json pod = withoutTheWebhook(object("exclusive-topology", "Pod", "tl-0-1"));
        pod["metadata"]["annotations"].erase(lws_keys::leaderRequestsTpus);
        json second = pod["spec"]["containers"][0];
        second["name"] = "second";
        pod["spec"]["containers"].push_back(second);
        const json placed = pod.patch(*groupPodPatch(pod, "lt"));
        const auto variable = [&](std::size_t container, const std::string &name) {
            for (const json &one : placed["spec"]["containers"][container]["env"]) {
                if (one["name"] == name)
                    return QString::fromStdString(one["value"]);
            }
            return QString();
        };
        QCOMPARE(variable(0, "TPU_WORKER_ID"), QStringLiteral("0"));
        QCOMPARE(variable(1, "TPU_WORKER_ID"), QStringLiteral("1"));
        QCOMPARE(variable(1, "TPU_PROCESS_PORT"), QStringLiteral("8477"));
        QCOMPARE(variable(0, "TPU_WORKER_HOSTNAMES"),
                 QStringLiteral("tl-0-1.tl,tl-0-1.tl,tl-0-2.tl,tl-0-2.tl,tl-0-3.tl,tl-0-3.tl"));
    }

    void podsThatMakeNoSenseAreRefused_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("said");
        QTest::newRow("no size") << "/metadata/annotations/leaderworkerset.sigs.k8s.io~1size" << QString()
                                 << "size annotation is unexpectedly missing for pod vllm-0-1";
        QTest::newRow("a strange size") << "/metadata/annotations/leaderworkerset.sigs.k8s.io~1size"
                                        << "two"
                                        << "no number";
        QTest::newRow("no ordinal") << "/metadata/name"
                                    << "vllm"
                                    << "parsing pod ordinal for pod vllm";
        QTest::newRow("no group") << "/metadata/labels/leaderworkerset.sigs.k8s.io~1group-index" << QString()
                                  << "no group index label found for pod default/vllm-0-1";
    }

    void podsThatMakeNoSenseAreRefused()
    {
        QFETCH(QString, path);
        QFETCH(QString, value);
        QFETCH(QString, said);
        json pod = object("tutorial3-hdml", "Pod", "vllm-0-1");
        const json::json_pointer place(path.toStdString());
        if (value.isNull())
            pod = pod.patch(json::array({{{"op", "remove"}, {"path", path.toStdString()}}}));
        else
            pod[place] = value.toStdString();
        const auto patch = groupPodPatch(pod, "default");
        QVERIFY(!patch);
        QVERIFY2(QString::fromStdString(patch.error().message).contains(said), patch.error().message.c_str());
    }

    void otherPodsAreLeftAlone()
    {
        const auto patch
            = groupPodPatch({{"metadata", {{"name", "x"}}}, {"spec", json::object()}}, "default");
        QVERIFY(patch && patch->empty());
    }

    void badSpecsAreRefusedWithTheRealWords_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("said");
        const QString rollout = "/spec/rolloutStrategy/rollingUpdateConfiguration/",
                      rolloutPath = "spec.rolloutStrategy.rollingUpdateConfiguration.",
                      subGroup = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize";
        QTest::newRow("right") << "/spec/replicas"
                               << "3" << QString();
        QTest::newRow("no pods")
            << "/spec/leaderWorkerTemplate/size"
            << "0"
            << "spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1";
        QTest::newRow("too many pods") << "/spec/leaderWorkerTemplate/size"
                                       << "2147483647"
                                       << "spec.replicas: Invalid value: 4: the product of replicas and "
                                          "worker replicas must not exceed 2147483647";
        QTest::newRow("nothing may move")
            << rollout + "maxUnavailable"
            << "0" << rolloutPath + "maxUnavailable: Invalid value: 0: must not be 0 when `maxSurge` is 0";
        QTest::newRow("too much") << rollout + "maxSurge"
                                  << "\"101%\""
                                  << rolloutPath
                + "maxSurge: Invalid value: \"101%\": must not be greater than 100%";
        QTest::newRow("two reasons") << rollout + "maxUnavailable"
                                     << "\"few\""
                                     << "[" + rolloutPath
                + "maxUnavailable: Invalid value: \"few\": a valid percent string must be a numeric string "
                  "followed by "
                  "an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%'), "
                + rolloutPath + "maxUnavailable: Invalid value: \"few\": invalid value, " + rolloutPath
                + "maxUnavailable: Invalid value: \"few\": must not be 0 when `maxSurge` is 0]";
        QTest::newRow("no partition")
            << rollout + "partition"
            << "-1" << rolloutPath + "partition: Invalid value: -1: must be greater than or equal to 0";
        QTest::newRow("parts of no size")
            << "/spec/leaderWorkerTemplate/subGroupPolicy"
            << R"({"subGroupSize": 0})"
            << subGroup + ": Invalid value: 0: subGroupSize must be equal or greater than 1";
        QTest::newRow("parts that don't fit")
            << "/spec/leaderWorkerTemplate/subGroupPolicy"
            << R"({"subGroupSize": 3})"
            << "[" + subGroup + ": Invalid value: 3: size or size - 1 must be divisible by subGroupSize, "
                + subGroup + ": Invalid value: 3: subGroupSize cannot be larger than size]";
        QTest::newRow("the leader is not a part")
            << "/spec/leaderWorkerTemplate/subGroupPolicy"
            << R"({"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"})"
            << subGroup
                + ": Invalid value: 2: size-1 must be divisible by subGroupSize when using LeaderExcluded";
        QTest::newRow("a topology of no parts")
            << "/metadata/annotations/leaderworkerset.sigs.k8s.io~1subgroup-exclusive-topology"
            << "\"zone\""
            << "metadata.annotations.leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: Invalid value: "
               "\"zone\": "
               "cannot have subgroup-exclusive-topology without subGroupSize set";
        QTest::newRow("a name of no Service")
            << "/metadata/name"
            << "\"1p\""
            << "metadata.name: Invalid value: \"1p\": a DNS-1035 label must consist of lower case "
               "alphanumeric characters "
               "or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. "
               "'my-name',  or "
               "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    }

    void badSpecsAreRefusedWithTheRealWords()
    {
        QFETCH(QString, path);
        QFETCH(QString, value);
        QFETCH(QString, said);
        json lws = recorded::storedSet("others", "p", "lp");
        lws["metadata"].emplace("annotations", json::object());
        lws[json::json_pointer(path.toStdString())] = json::parse(value.toStdString());
        QCOMPARE(words(checkLeaderWorkerSet(lws, nullptr)), said);
        const json review{{"request", {{"uid", "u"}, {"operation", "CREATE"}, {"object", lws}}}};
        const auto answer
            = lwsAdmission("/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset", review.dump());
        QVERIFY(answer.has_value());
        QVERIFY(answer->review["response"]["allowed"] == said.isEmpty());
        if (!said.isEmpty())
            QVERIFY(answer->review["response"]["status"]["code"] == 403);
    }

    void partsOfGroupsDontChange()
    {
        const json whole = recorded::storedSet("others", "p", "lp");
        json parts = whole, others = whole;
        parts["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = {{"subGroupSize", 2}};
        others["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = {{"subGroupSize", 1}};
        const QString path = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize: Invalid value: ";
        QCOMPARE(words(checkLeaderWorkerSet(parts, parts)), QString());
        QCOMPARE(words(checkLeaderWorkerSet(others, parts)), path + "1: field is immutable");
        QCOMPARE(words(checkLeaderWorkerSet(parts, whole)),
                 path + "2: cannot enable subGroupSize after the lws is already created");
        QCOMPARE(words(checkLeaderWorkerSet(whole, parts)),
                 path + "2: cannot remove subGroupSize after enabled");
    }

    void whatIsNotPlayedIsRefused()
    {
        const json review{{"request", {{"uid", "u"}, {"object", json::object()}}}};
        const auto answer
            = lwsAdmission("/validate-disaggregatedset-x-k8s-io-v1-disaggregatedset", review.dump());
        QVERIFY(answer && answer->review["response"]["allowed"] == false);
        QVERIFY(!lwsAdmission("/mutate", review.dump()));
        const auto unread = lwsAdmission("/mutate--v1-pod", "{");
        QVERIFY(unread && unread->review["response"]["allowed"] == false);
    }

    void quantitiesAreShortened_data()
    {
        QTest::addColumn<QString>("written");
        QTest::addColumn<QString>("shortest");
        const auto row = [](const char *written, const char *shortest) {
            QTest::newRow(written) << written << shortest;
        };
        row("8", "8");
        row("\"8\"", "8");
        row("\"100m\"", "100m");
        row("\"1000m\"", "1");
        row("\"0.5\"", "500m");
        row("1000", "1k");
        row("\"1024Mi\"", "1Gi");
        row("\"0.5Gi\"", "512Mi");
        row("\"1536Mi\"", "1536Mi");
        row("\"1e3\"", "1e3");
        row("\"12E\"", "12E");
        row("\"0\"", "0");
        row("\"-2\"", "-2");
        row("\"much\"", "much");
        row("\"\"", "");
    }

    void quantitiesAreShortened()
    {
        QFETCH(QString, written);
        QFETCH(QString, shortest);
        QCOMPARE(QString::fromStdString(shortestQuantity(json::parse(written.toStdString()))), shortest);
    }

    void whatTypesAlwaysWriteIsThere()
    {
        json spec{
            {"leaderWorkerTemplate",
             {{"workerTemplate",
               {{"spec",
                 {{"containers",
                   json::array({{{"name", "c"},
                                 {"env",
                                  json::array({{{"name", "CPU"},
                                                {"valueFrom",
                                                 {{"resourceFieldRef", {{"resource", "limits.cpu"}}}}}}})},
                                 {"resources", {{"limits", {{"cpu", 1}}}}}},
                                {{"name", "d"}}})}}}}}}}};
        makeTyped(spec);
        const json worker = spec["leaderWorkerTemplate"]["workerTemplate"];
        QVERIFY(worker["metadata"] == json::object());
        QVERIFY(worker["spec"]["containers"][1]["resources"] == json::object());
        QVERIFY(worker["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "1");
        QVERIFY(worker["spec"]["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"]["divisor"] == "0");
        QVERIFY(!spec["leaderWorkerTemplate"].contains("leaderTemplate"));
    }
};

QTEST_APPLESS_MAIN(TestLwsObjects)
#include "tst_lws_objects.moc"
