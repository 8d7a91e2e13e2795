#include "cluster/local/lws/group_state.h"
#include "cluster/local/lws/key_queue.h"
#include "cluster/local/lws/lws_counters.h"
#include "cluster/local/lws/lws_events.h"
#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_rollout.h"
#include "cluster/local/lws/lws_status.h"
#include "cluster/local/lws/restart_rules.h"
#include "cluster/local/lws/utc_text.h"
#include "recorded_lws.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

constexpr const char *oldKey = "568567649";
constexpr const char *newKey = "58577d484f";

/// r: ready, n: not; of the new revision in capitals; '-': not there; 'w': its workers are not there.
std::vector<GroupState> states(const QString &letters)
{
    std::vector<GroupState> all;
    for (const QChar letter : letters)
        all.push_back({letter.toLower() == 'r', letter.isUpper()});
    return all;
}

LwsSpec setOf(std::int64_t replicas, std::int64_t unavailable, std::int64_t surge, std::int64_t partition = 0)
{
    LwsSpec spec;
    spec.name = "g";
    spec.replicas = replicas;
    spec.size = 2;
    spec.maxUnavailable = unavailable;
    spec.maxSurge = surge;
    spec.partition = partition;
    return spec;
}

json leaderOf(const std::string &set, int index, const std::string &key, bool isReady)
{
    return {{"metadata",
             {{"name", set + "-" + std::to_string(index)},
              {"labels", {{lws_keys::groupIndex, std::to_string(index)}, {lws_keys::revision, key}}}}},
            {"status",
             {{"phase", "Running"},
              {"conditions", json::array({{{"type", "Ready"}, {"status", isReady ? "True" : "False"}}})}}}};
}

json workersOf(const std::string &set, int index, const std::string &key, bool isReady)
{
    return {
        {"metadata", {{"name", set + "-" + std::to_string(index)}, {"labels", {{lws_keys::revision, key}}}}},
        {"spec", {{"replicas", 1}}},
        {"status",
         {{"availableReplicas", isReady ? 1 : 0}, {"currentRevision", "a"}, {"updateRevision", "a"}}}};
}

GroupObjects groups(const std::string &set, const QString &letters)
{
    GroupObjects objects;
    for (int i = 0; i < letters.size(); ++i) {
        const QChar letter = letters[i];
        if (letter == '-')
            continue;
        const std::string key = letter.isUpper() ? newKey : oldKey;
        const bool isReady = letter.toLower() == 'r';
        objects.leaders.push_back(leaderOf(set, i, key, isReady));
        if (letter.toLower() != 'w')
            objects.statefulSets.push_back(workersOf(set, i, key, isReady));
    }
    return objects;
}

json withoutTimes(json status)
{
    for (json &condition : status["conditions"])
        condition["lastTransitionTime"] = "<time>";
    return status;
}

/// Every distinct status that the real manager wrote, in order.
std::vector<json> recordedStatuses(const std::string &file)
{
    std::vector<json> all;
    for (const json &document : recorded::objects(file)) {
        if (all.empty() || all.back() != document["status"])
            all.push_back(document["status"]);
    }
    return all;
}

json pod(const std::string &name, const std::string &leaderUid, bool isGoing = false, int restarts = 0,
         const std::string &phase = "Running")
{
    const bool isLeader = name == "g-0";
    json object{
        {"metadata",
         {{"name", name},
          {"uid", isLeader ? leaderUid : name},
          {"labels",
           {{lws_keys::name, "g"},
            {lws_keys::groupIndex, "0"},
            {lws_keys::workerIndex, isLeader ? "0" : "1"},
            {lws_keys::revision, oldKey}}}}},
        {"status", {{"phase", phase}, {"containerStatuses", json::array({{{"restartCount", restarts}}})}}}};
    if (!isLeader)
        object["metadata"]["ownerReferences"]
            = json::array({{{"kind", "StatefulSet"}, {"name", "g-0"}, {"uid", "sts"}, {"controller", true}}});
    if (isGoing)
        object["metadata"]["deletionTimestamp"] = "2026-11-30T14:52:41Z";
    return object;
}

json workersOfLeader(const std::string &leaderUid)
{
    return {
        {"metadata",
         {{"name", "g-0"},
          {"uid", "sts"},
          {"ownerReferences",
           json::array({{{"kind", "Pod"}, {"name", "g-0"}, {"uid", leaderUid}, {"controller", true}}})}}}};
}

json setWithPolicy(const std::string &policy)
{
    json lws = recorded::storedSet("others", "g", "lk");
    lws["spec"]["leaderWorkerTemplate"]["restartPolicy"] = policy;
    return lws;
}

json objectOf(const std::string &version)
{
    return {{"apiVersion", lws_keys::apiVersion},
            {"kind", lws_keys::kind},
            {"metadata", {{"name", "g"}, {"namespace", "lk"}, {"uid", "u"}, {"resourceVersion", version}}}};
}

} // namespace

class TestLwsRules : public QObject
{
    Q_OBJECT

private slots:
    void rolloutsGoTheRealWay_data()
    {
        QTest::addColumn<int>("replicas");
        QTest::addColumn<int>("unavailable");
        QTest::addColumn<int>("surge");
        QTest::addColumn<int>("userPartition");
        QTest::addColumn<bool>("isNew");
        QTest::addColumn<QString>("groupLetters");
        QTest::addColumn<int>("partition");
        QTest::addColumn<int>("current");
        QTest::addColumn<int>("nextPartition");
        QTest::addColumn<int>("nextReplicas");
        const auto row
            = [](const char *name, int replicas, int unavailable, int surge, int user, bool isNew,
                 const char *letters, int partition, int current, int nextPartition, int nextReplicas) {
                  QTest::newRow(name) << replicas << unavailable << surge << user << isNew << letters
                                      << partition << current << nextPartition << nextReplicas;
              };
        // As recorded: three groups, one at a time.
        row("templates changed", 3, 1, 0, 0, true, "rrr", 0, 3, 3, 3);
        row("the last is updated", 3, 1, 0, 0, false, "rrr", 3, 3, 2, 3);
        row("until it is there it waits", 3, 1, 0, 0, false, "rr-", 2, 3, 2, 3);
        row("until it is ready it waits", 3, 1, 0, 0, false, "rrN", 2, 3, 2, 3);
        row("the second", 3, 1, 0, 0, false, "rrR", 2, 3, 1, 3);
        row("the first", 3, 1, 0, 0, false, "rRR", 1, 3, 0, 3);
        row("done", 3, 1, 0, 0, false, "RRR", 0, 3, 0, 3);
        // Four groups of which the user lets two be updated, then all.
        row("partition: templates changed", 4, 1, 0, 2, true, "rrrr", 2, 4, 4, 4);
        row("partition: the last", 4, 1, 0, 2, false, "rrrr", 4, 4, 3, 4);
        row("partition: the third", 4, 1, 0, 2, false, "rrrR", 3, 4, 2, 4);
        row("partition: it stops", 4, 1, 0, 2, false, "rrRR", 2, 4, 2, 4);
        row("partition: given free", 4, 1, 0, 0, false, "rrRR", 2, 4, 1, 4);
        // Two groups with a surge of one.
        row("surge: templates changed", 2, 1, 1, 0, true, "rr", 0, 2, 2, 3);
        row("surge: it begins at once", 2, 1, 1, 0, false, "rr-", 2, 3, 1, 3);
        row("surge: both are on their way", 2, 1, 1, 0, false, "r-N", 1, 3, 1, 3);
        row("surge: it is ready", 2, 1, 1, 0, false, "rrR", 1, 3, 0, 3);
        row("surge: given back before the first is ready", 2, 1, 1, 0, false, "NRR", 0, 3, 0, 2);
        // Scaling.
        row("more", 2, 1, 0, 0, false, "r", 0, 1, 0, 2);
        row("fewer", 1, 1, 0, 0, false, "rr", 0, 2, 0, 1);
        row("none", 0, 1, 0, 0, false, "r", 0, 1, 0, 0);
        row("more during an update wait for none", 4, 1, 0, 0, false, "rrR", 2, 3, 2, 4);
        row("more with new templates", 4, 1, 0, 0, true, "rrr", 0, 3, 3, 4);
        row("nothing was ready", 3, 1, 0, 0, false, "nnn", 3, 3, 2, 3);
        row("nothing was ready, but the last is of the new templates", 3, 1, 0, 0, false, "nnN", 2, 3, 2, 3);
        row("all may be unavailable", 3, 3, 0, 0, false, "rrr", 3, 3, 0, 3);
        row("one below is not ready", 4, 2, 0, 0, false, "nrrr", 4, 4, 3, 4);
    }

    void rolloutsGoTheRealWay()
    {
        QFETCH(int, replicas);
        QFETCH(int, unavailable);
        QFETCH(int, surge);
        QFETCH(int, userPartition);
        QFETCH(bool, isNew);
        QFETCH(QString, groupLetters);
        QFETCH(int, partition);
        QFETCH(int, current);
        QFETCH(int, nextPartition);
        QFETCH(int, nextReplicas);
        const LwsSpec spec = setOf(replicas, unavailable, surge, userPartition);
        const LeaderSet set{{partition, current}, replicas};
        const RolloutStep next = nextStep(spec, set, isNew, states(groupLetters));
        QCOMPARE(static_cast<int>(next.partition), nextPartition);
        QCOMPARE(static_cast<int>(next.replicas), nextReplicas);
    }

    void aNewSetIsMadeWhole()
    {
        QVERIFY(nextStep(setOf(3, 1, 1), std::nullopt, false, {}) == (RolloutStep{0, 3}));
        QVERIFY(nextStep(setOf(4, 1, 0, 2), std::nullopt, false, {}) == (RolloutStep{2, 4}));
        QVERIFY(!leaderSet(nullptr));
    }

    void anotherNumberOfGroupsDuringAnUpdateKeepsThePartition()
    {
        const LeaderSet set{{2, 4}, 4};
        QVERIFY(nextStep(setOf(3, 1, 0), set, false, states("rrRR")) == (RolloutStep{2, 3}));
        QVERIFY(nextStep(setOf(1, 1, 0), set, false, states("rrRR")) == (RolloutStep{1, 1}));
    }

    void eventsSayWhatIsTakenAway()
    {
        const LwsSpec spec = setOf(1, 1, 0);
        QCOMPARE(QString::fromStdString(surgeWords(spec, {{0, 2}, 2}, {0, 1})),
                 QStringLiteral("deleting surge replica g-1"));
        QCOMPARE(QString::fromStdString(surgeWords(spec, {{0, 4}, 4}, {0, 1})),
                 QStringLiteral("deleting surge replicas from g-1 to g-3"));
        QVERIFY(surgeWords(spec, {{0, 1}, 1}, {0, 1}).empty());
        QCOMPARE(QString::fromStdString(partitionWords(3, 2)), QStringLiteral("Updating replica 2"));
        QCOMPARE(QString::fromStdString(partitionWords(3, 0)),
                 QStringLiteral("Updating replicas 0 to 2 (inclusive)"));
    }

    void sharesAreRoundedTowardsTheUser()
    {
        json lws = recorded::storedSet("others", "p", "lp");
        json &rollout = lws["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"];
        rollout["maxUnavailable"] = "40%";
        rollout["maxSurge"] = "30%";
        QCOMPARE(lwsSpec(lws).maxUnavailable, std::int64_t{1});
        QCOMPARE(lwsSpec(lws).maxSurge, std::int64_t{2});
        rollout["maxSurge"] = 9;
        QCOMPARE(lwsSpec(lws).maxSurge, std::int64_t{4});
    }

    void groupsAreReadyAndUpdatedAsAWhole()
    {
        const auto found = groupStates(setOf(4, 1, 0), groups("g", "rNw-"), 4, newKey);
        QVERIFY(found
                == (std::vector<GroupState>{{true, false}, {false, true}, {false, false}, {false, false}}));
        GroupObjects other = groups("g", "r");
        other.statefulSets[0]["status"]["updateRevision"] = "b";
        QVERIFY(!groupStates(setOf(1, 1, 0), other, 1, oldKey)[0].isReady);
    }

    /// The statuses of a set of four groups: made, then updated behind a partition of 2, then with none.
    void statusesAreTheRealOnes()
    {
        struct Pass
        {
            const char *groupLetters;
            int leaders;
            int generation;
            int partition;
        };
        // As the timeline tells what there was before each of the recorded statuses.
        const std::vector<Pass> passes{
            {"----", 0, 1, 2}, {"n---", 0, 1, 2}, {"nnn-", 0, 1, 2}, {"nnnn", 0, 1, 2}, {"nnnn", 4, 1, 2},
            {"rrrr", 4, 1, 2}, {"rrrr", 4, 2, 2}, {"rrrr", 4, 2, 2}, {"rrr-", 4, 2, 2}, {"rrrN", 4, 2, 2},
        };
        const std::vector<json> recordedOnes = recordedStatuses("partition-status");
        QVERIFY(recordedOnes.size() > passes.size());
        json lws = recorded::storedSet("others", "p", "lp");
        for (std::size_t i = 0; i < passes.size(); ++i) {
            const Pass &pass = passes[i];
            lws["metadata"]["generation"] = pass.generation;
            const LwsStatus after
                = lwsStatus(lws, groups("p", QString::fromLatin1(pass.groupLetters)), pass.leaders,
                            pass.generation == 1 ? oldKey : newKey, "2026-11-30T15:09:42Z");
            QVERIFY2(
                withoutTimes(after.status) == withoutTimes(recordedOnes[i + 1]),
                (std::to_string(i) + ": " + after.status.dump() + "\nrecorded " + recordedOnes[i + 1].dump())
                    .c_str());
            QVERIFY(after.isChanged);
            lws["status"] = after.status;
            const LwsStatus again = lwsStatus(lws, groups("p", QString::fromLatin1(pass.groupLetters)),
                                              pass.leaders, pass.generation == 1 ? oldKey : newKey, "later");
            // Only the condition that the first change put off comes with the second pass.
            QCOMPARE(again.isChanged, i == 6);
        }
    }

    void theLastStatusOfAnUpdateIsTheRealOne()
    {
        for (const auto &[file, set, letters, partition] :
             {std::tuple{"partition-status", "p", "RRRR", 0}, std::tuple{"surge-status", "s", "RR", 0}}) {
            const std::vector<json> recordedOnes = recordedStatuses(file);
            json lws = recorded::storedSet("others", set, "x");
            lws["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = partition;
            lws["metadata"]["generation"] = recordedOnes.back()["observedGeneration"];
            lws["status"] = recordedOnes[recordedOnes.size() - 2];
            const LwsStatus after = lwsStatus(lws, groups(set, QString::fromLatin1(letters)),
                                              recordedOnes.back()["replicas"], newKey, "now");
            QVERIFY2(withoutTimes(after.status) == withoutTimes(recordedOnes.back()),
                     after.status.dump().c_str());
            QVERIFY(after.isUpdateDone);
            QCOMPARE(QString::fromStdString(after.eventReason), QStringLiteral("AllGroupsReady"));
        }
    }

    void eventsCountTheGroups()
    {
        const json lws = recorded::storedSet("others", "g", "lk");
        const LwsStatus first = lwsStatus(lws, {}, 0, oldKey, "now");
        QCOMPARE(QString::fromStdString(first.eventReason), QStringLiteral("GroupsProgressing"));
        QCOMPARE(QString::fromStdString(first.eventWords),
                 QStringLiteral("Replicas are progressing, with 0 groups ready of total 1 groups"));
        QVERIFY(!first.isUpdateDone);
        // One more is ready than is asked for, as on the way from two groups to one.
        const LwsStatus more = lwsStatus(lws, groups("g", "rr"), 2, oldKey, "now");
        QCOMPARE(QString::fromStdString(more.eventWords),
                 QStringLiteral("All replicas are ready, with 2 groups ready of total 1 groups"));
        QVERIFY(more.status["readyReplicas"] == 2);
    }

    void restartPoliciesDecideAsTheRealOne_data()
    {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("verdict");
        const auto row = [](const char *policy, const char *what, const char *verdict) {
            QTest::newRow((std::string(policy) + ": " + what).c_str()) << policy << what << verdict;
        };
        row("RecreateGroupOnPodRestart", "running", "nothing");
        row("RecreateGroupOnPodRestart", "worker deleted", "delete");
        row("RecreateGroupOnPodRestart", "worker restarted", "delete");
        row("RecreateGroupOnPodRestart", "leader restarted", "delete");
        row("RecreateGroupOnPodRestart", "leader deleted", "going");
        row("RecreateGroupOnPodRestart", "worker deleted, leader too", "going");
        row("RecreateGroupOnPodRestart", "worker of another revision", "keep");
        row("RecreateGroupOnPodRestart", "worker of an earlier leader", "keep");
        row("RecreateGroupOnPodRestart", "worker without a leader", "keep");
        row("RecreateGroupOnPodRestart", "worker deleted, leader pending", "delete");
        row("RecreateGroupOnPodRestart", "failed with a restart", "nothing");
        row("RecreateGroupAfterStart", "worker restarted", "delete");
        row("RecreateGroupAfterStart", "worker deleted, leader pending", "keep");
        row("RecreateGroupAfterStart", "worker deleted, alone", "keep");
        row("None", "worker deleted", "nothing");
        row("None", "worker restarted", "nothing");
    }

    void restartPoliciesDecideAsTheRealOne()
    {
        QFETCH(QString, policy);
        QFETCH(QString, what);
        QFETCH(QString, verdict);
        const json lws = setWithPolicy(policy.toStdString());
        const bool leaderGoes = what == "leader deleted" || what.endsWith("leader too");
        json leader = pod("g-0", "l", leaderGoes, what == "leader restarted" ? 1 : 0,
                          what.endsWith("leader pending") ? "Pending" : "Running");
        json worker = pod("g-0-1", "",
                          what.startsWith("worker deleted") || what.startsWith("worker of")
                              || what.endsWith("without a leader"),
                          what == "worker restarted" || what.startsWith("failed") ? 1 : 0,
                          what.startsWith("failed") ? "Failed" : "Running");
        if (what == "worker of another revision")
            worker["metadata"]["labels"][lws_keys::revision] = newKey;
        RestartGroup group{leader,
                           workersOfLeader(what == "worker of an earlier leader" ? "before" : "l"),
                           {leader, worker}};
        if (what == "worker without a leader")
            group.leader = nullptr;
        if (what == "worker deleted, alone")
            group.pods.pop_back();
        const json &looked = what.startsWith("leader") ? leader : worker;
        QString found = "nothing";
        if (endsItsGroup(looked, lwsSpec(lws))) {
            const RestartVerdict judged = restartVerdict(lws, looked, group);
            found = judged == RestartVerdict::Keep       ? "keep"
                : judged == RestartVerdict::DeleteLeader ? "delete"
                                                         : "going";
        }
        QCOMPARE(found, verdict);
    }

    void anAnnotationLetsTheStartBeDone()
    {
        json lws = setWithPolicy("RecreateGroupOnPodRestart");
        lws["metadata"]["annotations"] = {{lws_keys::recreateAfterStart, ""}};
        const json leader = pod("g-0", "l", false, 0, "Pending"), worker = pod("g-0-1", "", true);
        QVERIFY(restartVerdict(lws, worker, {leader, workersOfLeader("l"), {leader, worker}})
                == RestartVerdict::Keep);
    }

    void eventsFoldAsTheRealRecorders()
    {
        EventFolding folding("leaderworkerset-host");
        const EventFolding::Time start = std::chrono::sys_days(std::chrono::year(2026) / 11 / 30);
        const LwsEvent first{objectOf("1"), nullptr, "GroupsProgressing", "Update", "with 0 groups", false};
        LwsEvent other = first, later = first;
        other.note = "with 1 groups";
        later.regarding = objectOf("2");
        const auto made = folding.add(first, start);
        QVERIFY(made && !made->isPatch);
        QVERIFY(made->path.text().starts_with("/apis/events.k8s.io/v1/namespaces/lk/events/g."));
        const json &body = made->body;
        QVERIFY(body["reportingController"] == "leaderworkerset");
        QVERIFY(body["reportingInstance"] == "leaderworkerset-host");
        QVERIFY(body["note"] == "with 0 groups" && body["type"] == "Normal");
        QVERIFY(body["regarding"]["resourceVersion"] == "1" && !body.contains("related"));
        QVERIFY(body["eventTime"] == "2026-11-30T00:00:00.000000Z");
        // The same but for the words: a series; of the third nobody hears before it is over.
        const auto second = folding.add(other, start + std::chrono::seconds(1));
        QVERIFY(second && second->isPatch && second->path == made->path);
        QVERIFY(second->body["series"]["count"] == 2);
        QVERIFY(!folding.add(first, start + std::chrono::seconds(2)));
        // Another version of the object is another event.
        const auto anew = folding.add(later, start + std::chrono::seconds(3));
        QVERIFY(anew && !anew->isPatch);
        QVERIFY(folding.finish(start + std::chrono::minutes(5)).empty());
        const auto late = folding.finish(start + std::chrono::minutes(7));
        QCOMPARE(late.size(), std::size_t{1});
        QVERIFY(late[0].body["series"]["count"] == 3);
        QVERIFY(folding.add(first, start + std::chrono::minutes(8))->isPatch == false);
    }

    void aKeyIsTakenOnceAndWhenItIsDue()
    {
        KeyQueue queue;
        CancelSource cancel;
        queue.addAfter({"n", "late"}, std::chrono::hours(1));
        queue.add({"n", "a"});
        queue.add({"n", "a"});
        queue.addAfter({"n", "late"}, std::chrono::hours(2));
        QCOMPARE(queue.size(), std::size_t{2});
        QVERIFY(queue.take(cancel.get_token()) == (KeyQueue::Key{"n", "a"}));
        queue.add({"n", "late"});
        QVERIFY(queue.take(cancel.get_token()) == (KeyQueue::Key{"n", "late"}));
        queue.retry({"n", "b"});
        QVERIFY(queue.take(cancel.get_token()) == (KeyQueue::Key{"n", "b"}));
        cancel.request_stop();
        QVERIFY(!queue.take(cancel.get_token()));
    }

    void theMetricsPageCounts()
    {
        LwsCounters counters;
        counters.sets.succeeded = 3;
        counters.isLeading = true;
        const QString page = QString::fromStdString(metricsPage(counters));
        QVERIFY(page.contains(
            "controller_runtime_reconcile_total{controller=\"leaderworkerset\",result=\"success\"} 3\n"));
        QVERIFY(page.contains("leader_election_master_status{name=\"b8b2488c.x-k8s.io\"} 1\n"));
    }

    void timesAreKubernetes()
    {
        const auto time
            = std::chrono::sys_days(std::chrono::year(2026) / 2 / 3) + std::chrono::microseconds(1234);
        QCOMPARE(QString::fromStdString(utcMicros(time)), QStringLiteral("2026-02-03T00:00:00.001234Z"));
        QCOMPARE(QString::fromStdString(utcSeconds(time)), QStringLiteral("2026-02-03T00:00:00Z"));
    }
};

QTEST_APPLESS_MAIN(TestLwsRules)
#include "tst_lws_rules.moc"
