// Kubelet's rules as functions: what to do for a pod, and what its status says. No clock, no process.

#include "cluster/local/nodeagent/pod_plan.h"
#include "cluster/local/nodeagent/pod_status.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using Kind = PodAction::Kind;

namespace {

const Time t0 = *parseTime("2026-11-30T12:00:00Z");

/// A pod and its record, played by hand.
struct Stage
{
    explicit Stage(json spec, json metadata = json::object())
    {
        metadata.update({{"name", "web"}, {"namespace", "default"}, {"uid", "u1"}});
        pod = parsePod(std::make_shared<json>(json{{"metadata", metadata}, {"spec", std::move(spec)}}));
        record.containers.resize(pod.containers.size());
        record.startTime = t0;
        record.sandbox = SandboxState::Ready;
        record.podIp = "10.16.0.2";
    }

    PodPlan plan(Time now) { return planPod(pod, record, now); }

    void start(std::size_t i, Time now)
    {
        noteStart(record.containers[i], now);
        record.containers[i].isStarted = record.containers[i].isReady = true;
    }

    void end(std::size_t i, int code, Time now)
    {
        noteEnd(record.containers[i], {code, 0, code == 0 ? "Completed" : "Error", {}, t0, now, {}});
    }

    PodSpec pod;
    PodRecord record;
};

json containers(std::initializer_list<const char *> names)
{
    json list = json::array();
    for (const char *name : names)
        list.push_back({{"name", name}, {"image", "busybox"}});
    return list;
}

std::vector<std::size_t> started(const PodPlan &plan)
{
    std::vector<std::size_t> list;
    for (const PodAction &action : plan.actions) {
        if (action.kind == Kind::Start)
            list.push_back(action.container);
    }
    return list;
}

bool has(const PodPlan &plan, Kind kind)
{
    return std::any_of(plan.actions.begin(), plan.actions.end(),
                       [kind](const PodAction &action) { return action.kind == kind; });
}

json conditionOf(const json &status, const char *type)
{
    for (const json &condition : status["conditions"]) {
        if (condition["type"] == type)
            return condition;
    }
    return {};
}

using Indices = std::vector<std::size_t>;

} // namespace

class TestPodRules : public QObject
{
    Q_OBJECT

private slots:
    void addressAndVolumesComeBeforeContainers()
    {
        Stage stage(json{{"containers", containers({"a"})}});
        stage.record.sandbox = SandboxState::None;
        QVERIFY(has(stage.plan(t0), Kind::PrepareSandbox));
        QVERIFY(started(stage.plan(t0)).empty());
        stage.record.sandboxRetryAt = t0 + 1s;
        QVERIFY(!has(stage.plan(t0), Kind::PrepareSandbox));
        QVERIFY(stage.plan(t0).wakeAt == t0 + 1s);
    }

    void allMainContainersStartAtOnce()
    {
        Stage stage(json{{"containers", containers({"a", "b"})}});
        QCOMPARE(started(stage.plan(t0)), (Indices{0, 1}));
    }

    void initContainersRunOneAfterTheOther()
    {
        Stage stage(json{{"initContainers", containers({"i", "j"})}, {"containers", containers({"a"})}});
        QCOMPARE(started(stage.plan(t0)), Indices{0});
        stage.start(0, t0);
        QVERIFY(stage.plan(t0).actions.empty());
        stage.end(0, 0, t0);
        QCOMPARE(started(stage.plan(t0)), Indices{1});
        stage.start(1, t0);
        stage.end(1, 0, t0);
        QCOMPARE(started(stage.plan(t0)), Indices{2});
    }

    void aFailedInitContainerFailsAPodThatIsNeverRestarted()
    {
        Stage stage(json{{"initContainers", containers({"i"})},
                         {"containers", containers({"a"})},
                         {"restartPolicy", "Never"}});
        stage.start(0, t0);
        stage.end(0, 1, t0);
        QVERIFY(has(stage.plan(t0), Kind::TearDown));
        QCOMPARE(podPhase(stage.pod, stage.record), std::string("Failed"));
    }

    void aSidecarMustHaveStartedBeforeTheOthersAndEndsAfterThem()
    {
        json inits = containers({"s"});
        inits[0]["restartPolicy"] = "Always";
        Stage stage(
            {{"initContainers", inits}, {"containers", containers({"a"})}, {"restartPolicy", "Never"}});
        QCOMPARE(started(stage.plan(t0)), Indices{0});
        stage.start(0, t0);
        stage.record.containers[0].isStarted = false;
        QVERIFY(stage.plan(t0).actions.empty());
        stage.record.containers[0].isStarted = true;
        QCOMPARE(started(stage.plan(t0)), Indices{1});
        stage.start(1, t0);
        QVERIFY(stage.plan(t0).actions.empty());
        stage.end(1, 0, t0);
        const PodPlan plan = stage.plan(t0);
        QVERIFY(has(plan, Kind::Stop));
        QCOMPARE(plan.actions.front().container, std::size_t{0});
        stage.end(0, 143, t0);
        QVERIFY(has(stage.plan(t0), Kind::TearDown));
        QCOMPARE(podPhase(stage.pod, stage.record), std::string("Succeeded"));
    }

    void theFirstRestartIsImmediateAndTheNextOnesWaitLongerAndLonger()
    {
        Stage stage(json{{"containers", containers({"a"})}});
        Time now = t0;
        stage.start(0, now);
        stage.end(0, 1, now);
        for (const auto wait : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
            if (wait > 0s) {
                QVERIFY(has(stage.plan(now), Kind::BackOff));
                QVERIFY(stage.plan(now).wakeAt == now + wait);
                QVERIFY(started(stage.plan(now + wait - 1s)).empty());
            }
            now += wait;
            QCOMPARE(started(stage.plan(now)), Indices{0});
            stage.start(0, now);
            stage.end(0, 1, now);
        }
        QCOMPARE(stage.record.containers[0].restarts, 8);
    }

    void aContainerThatRanWellForTenMinutesIsForgiven()
    {
        Stage stage(json{{"containers", containers({"a"})}});
        stage.start(0, t0);
        stage.end(0, 1, t0);
        stage.start(0, t0);
        stage.end(0, 1, t0);
        stage.start(0, t0 + 10s);
        stage.end(0, 1, t0 + 11min);
        QCOMPARE(started(stage.plan(t0 + 11min)), Indices{0});
        stage.start(0, t0 + 11min);
        QCOMPARE(stage.record.containers[0].backoff, 10s);
    }

    void restartPolicyDecidesAboutTheEnd_data()
    {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("code");
        QTest::addColumn<bool>("again");
        QTest::addColumn<QString>("phase");
        QTest::newRow("Always 0") << "Always" << 0 << true << "Running";
        QTest::newRow("Always 1") << "Always" << 1 << true << "Running";
        QTest::newRow("OnFailure 0") << "OnFailure" << 0 << false << "Succeeded";
        QTest::newRow("OnFailure 1") << "OnFailure" << 1 << true << "Running";
        QTest::newRow("Never 0") << "Never" << 0 << false << "Succeeded";
        QTest::newRow("Never 1") << "Never" << 1 << false << "Failed";
    }

    void restartPolicyDecidesAboutTheEnd()
    {
        QFETCH(QString, policy);
        QFETCH(int, code);
        QFETCH(bool, again);
        QFETCH(QString, phase);
        Stage stage(json{{"containers", containers({"a"})}, {"restartPolicy", policy.toStdString()}});
        stage.start(0, t0);
        stage.end(0, code, t0);
        QCOMPARE(!started(stage.plan(t0)).empty(), again);
        QCOMPARE(has(stage.plan(t0), Kind::TearDown), !again);
        QCOMPARE(podPhase(stage.pod, stage.record), phase.toStdString());
    }

    void theDeadlineEndsThePod()
    {
        Stage stage(json{{"containers", containers({"a"})}, {"activeDeadlineSeconds", 60}});
        stage.start(0, t0);
        QVERIFY(stage.plan(t0).wakeAt == t0 + 60s);
        QVERIFY(has(stage.plan(t0 + 60s), Kind::Fail));
        stage.record.verdict = PodVerdict{"DeadlineExceeded", "too long"};
        QVERIFY(has(stage.plan(t0 + 60s), Kind::Stop));
        stage.end(0, 143, t0 + 61s);
        QVERIFY(has(stage.plan(t0 + 61s), Kind::TearDown));
        const json status = podStatus(stage.pod, stage.record, t0 + 61s);
        QVERIFY(status["phase"] == json("Failed"));
        QVERIFY(status["reason"] == json("DeadlineExceeded"));
    }

    void deletionStopsWithThePodsGraceAndStartsNothing()
    {
        Stage stage(json{{"containers", containers({"a", "b"})}},
                    {{"deletionTimestamp", "2026-11-30T12:00:30Z"}, {"deletionGracePeriodSeconds", 7}});
        stage.start(0, t0);
        const PodPlan plan = stage.plan(t0);
        QCOMPARE(plan.actions.size(), std::size_t{1});
        QCOMPARE(plan.actions[0].kind, Kind::Stop);
        QCOMPARE(plan.actions[0].graceSeconds, 7);
        stage.record.containers[0].isStopping = true;
        QVERIFY(stage.plan(t0).actions.empty());
        stage.end(0, 143, t0);
        QVERIFY(has(stage.plan(t0), Kind::TearDown));
        stage.record.isTornDown = true;
        QCOMPARE(podPhase(stage.pod, stage.record), std::string("Failed"));
        QVERIFY(stage.plan(t0).actions.empty());
    }

    void theStatusOfACrashLoopIsWordedAsKubeletDoes()
    {
        Stage stage(json{{"containers", containers({"a"})}});
        stage.start(0, t0);
        stage.end(0, 3, t0);
        stage.start(0, t0);
        stage.end(0, 3, t0 + 1s);
        ContainerRecord &container = stage.record.containers[0];
        container.phase = ContainerPhase::Waiting;
        container.waitingReason = "CrashLoopBackOff";
        container.waitingMessage = "back-off " + durationText(container.backoff) + " restarting";
        const json status = podStatus(stage.pod, stage.record, t0 + 1s);
        QVERIFY(status["phase"] == json("Running"));
        const json &of = status["containerStatuses"][0];
        QVERIFY(of["restartCount"] == json(1));
        QVERIFY(of["state"]["waiting"]["reason"] == json("CrashLoopBackOff"));
        QVERIFY(of["lastState"]["terminated"]["exitCode"] == json(3));
        QVERIFY(of["ready"] == json(false));
        QVERIFY(conditionOf(status, "Ready")["reason"] == json("ContainersNotReady"));
        QVERIFY(conditionOf(status, "Ready")["message"] == json("containers with unready status: [a]"));
    }

    void conditionsKeepTheTimeOfTheirLastChange()
    {
        Stage stage(json{{"containers", containers({"a"})}});
        podStatus(stage.pod, stage.record, t0);
        stage.start(0, t0 + 5s);
        json status = podStatus(stage.pod, stage.record, t0 + 5s);
        QVERIFY(conditionOf(status, "Ready")["status"] == json("True"));
        status = podStatus(stage.pod, stage.record, t0 + 9s);
        QVERIFY(conditionOf(status, "Ready")["lastTransitionTime"] == json("2026-11-30T12:00:05Z"));
        QVERIFY(conditionOf(status, "Ready")["reason"] == json(nullptr));
        QVERIFY(conditionOf(status, "Initialized")["lastTransitionTime"] == json("2026-11-30T12:00:00Z"));
    }

    void waitingContainersSayWhatTheyWaitFor()
    {
        Stage plain(json{{"containers", containers({"a"})}});
        QCOMPARE(waitingReason(plain.pod, plain.record, 0), std::string("ContainerCreating"));
        Stage init(json{{"initContainers", containers({"i"})}, {"containers", containers({"a"})}});
        QCOMPARE(waitingReason(init.pod, init.record, 1), std::string("PodInitializing"));
        const json status = podStatus(init.pod, init.record, t0);
        QVERIFY(conditionOf(status, "Initialized")["message"]
                == json("containers with incomplete status: [i]"));
    }

    void afterTheAgentWasAwayLostContainersAreRestartedAndDoneOnesAreNot()
    {
        Stage stage(json{{"initContainers", containers({"i"})}, {"containers", containers({"a"})}});
        stage.start(0, t0);
        stage.record.containers[0].containerId = "slipway://1";
        stage.end(0, 0, t0);
        stage.start(1, t0);
        stage.record.containers[1].containerId = "slipway://2";
        json object = *stage.pod.object;
        object["status"] = podStatus(stage.pod, stage.record, t0);
        const PodSpec pod = parsePod(std::make_shared<json>(object));
        PodRecord record = recordFromStatus(pod, t0 + 60s, false);
        QCOMPARE(record.podIp, std::string("10.16.0.2"));
        record.sandbox = SandboxState::Ready;
        const PodPlan plan = planPod(pod, record, t0 + 60s);
        QCOMPARE(started(plan), Indices{1});
        noteStart(record.containers[1], t0 + 60s);
        QCOMPARE(record.containers[1].restarts, 1);
        QCOMPARE(record.containers[1].previousEnd->exitCode, 255);
    }

    void finishedPodsStayAsTheyAre()
    {
        const json object{{"metadata", {{"name", "w"}, {"namespace", "d"}, {"uid", "u"}}},
                          {"spec", {{"containers", containers({"a"})}, {"restartPolicy", "Never"}}},
                          {"status", {{"phase", "Failed"}}}};
        const PodSpec pod = parsePod(std::make_shared<json>(object));
        QVERIFY(planPod(pod, recordFromStatus(pod, t0, false), t0).actions.empty());
    }

    void aPrunedPodIsStillTheSamePodToTheRules()
    {
        json object{
            {"metadata", {{"name", "w"}, {"namespace", "d"}, {"uid", "u"}, {"labels", {{"a", "b"}}}}},
            {"spec",
             {{"containers", containers({"a", "b"})}, {"nodeName", "n"}, {"restartPolicy", "OnFailure"}}}};
        object["spec"]["containers"][0]["env"]
            = json::array({{{"name", "LONG"}, {"value", std::string(9000, 'x')}}});
        json pruned = object;
        pruneSimulatedPod(pruned);
        QVERIFY(pruned.dump().size() < 400);
        const PodSpec pod = parsePod(std::make_shared<json>(pruned));
        QCOMPARE(pod.node, std::string("n"));
        QCOMPARE(pod.containers.size(), std::size_t{2});
        QVERIFY(pod.restartPolicy == RestartPolicy::OnFailure);
    }

    void timesAreReadAndWrittenAsInTheApi()
    {
        QCOMPARE(secondsText(t0), std::string("2026-11-30T12:00:00Z"));
        QVERIFY(*parseTime("2026-11-30T13:00:00+01:00") == t0);
        QVERIFY(*parseTime("2026-11-30T12:00:00.5Z") == t0 + 500ms);
        QCOMPARE(nanosecondsText(t0 + 1ms), std::string("2026-11-30T12:00:00.001000000Z"));
        QVERIFY(!parseTime("yesterday"));
        QCOMPARE(durationText(10s), std::string("10s"));
        QCOMPARE(durationText(160s), std::string("2m40s"));
        QCOMPARE(durationText(300s), std::string("5m0s"));
    }
};

QTEST_GUILESS_MAIN(TestPodRules)
#include "tst_pod_rules.moc"
