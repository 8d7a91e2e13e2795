// The node agent's less usual pods: images that can't be had, debuggers, podman's containers, limits, nodes
// that come back.

#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"

#include <QTest>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;

namespace {

/// Plays podman: notes its command lines, runs the entrypoint as a shell script.
constexpr const char *scriptedPodman = R"sh(#!/bin/sh
here=$(dirname "$0")
for word in "$@"; do printf '%s\n' "$word"; done >> "$here/lines"
echo . >> "$here/lines"
case "$1" in
image) [ "$4" = there:1 ] ;;
pull) [ "$4" = pulled:1 ] || { echo "Error: initializing source: name unknown" >&2; exit 125; } ;;
run)
    for word in "$@"; do case "$word" in --name=*) name=${word#--name=} ;; esac; done
    echo $$ > "$here/pid-$name"
    echo "secret is $SECRET"
    trap 'echo told to end; exit 7' TERM
    while :; do sleep 0.05; done ;;
exec) shift; shift; exec "$@" ;;
kill) kill -9 "$(cat "$here/pid-$2")" ;;
*) exit 125 ;;
esac
)sh";

json podmanPod(const std::string &image)
{
    json container{{"name", "main"}, {"image", image}, {"args", {"--flag", "a b"}}};
    container["env"] = json::array({{{"name", "SECRET"}, {"value", "s3cr3t"}}});
    container["resources"] = {{"limits", {{"memory", "64Mi"}, {"cpu", "1500m"}}}};
    return podOf(container, "Never");
}

} // namespace

class TestSpecialPods : public AgentTest
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        begin([this](AgentStand &stand) {
            m_podman = stand.folder() + "/podman/podman";
            std::filesystem::create_directory(stand.folder() + "/podman");
            std::ofstream(m_podman) << scriptedPodman;
            std::filesystem::permissions(m_podman, std::filesystem::perms::owner_all);
            stand.options.podman = m_podman;
        });
    }

    void cleanupTestCase() { end(); }

    void aTextThatIsNoImageNameIsSaid()
    {
        m_stand->makePod("noname", podOf({{"name", "main"}, {"image", "Not/An:Image:name"}}));
        const json pod = m_stand->waitFor(
            "noname", [](const json &pod) { return waitingReasonOf(pod) == "InvalidImageName"; });
        QVERIFY(!pod.is_null());
        const std::string message = firstStatus(pod)["state"]["waiting"]["message"];
        QVERIFY2(message.starts_with(
                     "Failed to apply default image tag \"Not/An:Image:name\": couldn't parse image "
                     "name \"Not/An:Image:name\": invalid reference format"),
                 message.c_str());
        QVERIFY(m_stand->waitForEvent("noname", "InspectFailed: Failed to apply default image tag"));
        QVERIFY(m_stand->waitForEvent("noname", "Failed: Error: InvalidImageName"));
    }

    void aDebuggerIsAddedToARunningPod()
    {
        json container = shell("exec sleep 1000");
        m_stand->makePod("patient", podOf(container),
                         {{"annotations", {{"slipway.dev/runtime", "process"}}}});
        QVERIFY(m_stand->waitReady("patient"));
        const json debugger{
            {"name", "debugger"},
            {"image", "busybox:1.36"},
            {"command", {"sh", "-c", "echo looks at $HOSTNAME; pgrep -x sleep >/dev/null && echo sees it"}},
            {"targetContainerName", "main"}};
        const auto patched = m_plane->client().patch(
            coreV1("pods", "default", "patient").sub("ephemeralcontainers"), PatchType::Strategic,
            {{"spec", {{"ephemeralContainers", json::array({debugger})}}}});
        QVERIFY2(patched.has_value(), patched ? "" : patched.error().message.c_str());
        const json pod = m_stand->waitFor("patient", [](const json &pod) {
            const json list = pod["status"].value("ephemeralContainerStatuses", json::array());
            return !list.empty() && list[0]["state"].contains("terminated");
        });
        QVERIFY(!pod.is_null());
        const json status = pod["status"]["ephemeralContainerStatuses"][0];
        QVERIFY2(status["state"]["terminated"]["reason"] == "Completed", status.dump().c_str());
        QVERIFY(status["restartCount"] == 0);
        QVERIFY(pod["status"]["phase"] == "Running");
        QVERIFY(firstStatus(pod)["ready"] == true);
        const std::string log = logOf("patient", "debugger");
        QCOMPARE(log, std::string("looks at patient\nsees it\n"));
        QVERIFY(m_stand->waitForEvent("patient", "Started: Started container debugger"));
    }

    void limitsAreStated()
    {
        json container = shell("grep Cpus_allowed_list /proc/self/status; exec sleep 1000");
        container["resources"] = {{"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}};
        m_stand->makePod("limited", podOf(container),
                         {{"annotations", {{"slipway.dev/runtime", "process"}}}});
        const json pod = m_stand->waitFor("limited", [](const json &pod) {
            return pod["metadata"].contains("annotations")
                && pod["metadata"]["annotations"].contains("slipway.dev/limits");
        });
        QVERIFY(!pod.is_null());
        const std::string text = pod["metadata"]["annotations"]["slipway.dev/limits"];
        QVERIFY2(text.starts_with("memory: ") && text.ends_with("ephemeral-storage: not enforced"),
                 text.c_str());
        const std::string allowed = m_stand->waitForLog("limited", "Cpus_allowed_list:");
        const bool hasCgroups = text.find("cgroup") != std::string::npos;
        QVERIFY2(hasCgroups || allowed.find_first_of(",-") == std::string::npos, allowed.c_str());
    }

    void podmanRunsTheImageItself()
    {
        m_stand->makePod("real", podmanPod("there:1"));
        QVERIFY(m_stand->waitReady("real"));
        const json pod = m_stand->pod("real");
        QVERIFY(pod["metadata"]["annotations"]["slipway.dev/stand-in"] == "podman, with the image itself");
        QCOMPARE(m_stand->waitForLog("real", "secret"), std::string("secret is s3cr3t\n"));
        const std::string name = "slipway-" + pod["metadata"]["uid"].get<std::string>() + "-main";
        const std::string lines = linesOf();
        QVERIFY2(lines.starts_with(
                     "image\nexists\n--\nthere:1\n.\nrun\n--rm\n--replace\n--pull=never\n--name=" + name
                     + "\n--network=host\n--no-hosts\n--log-driver=none\n--hostname=real\n"
                       "--memory=67108864b\n--cpus=1.500\n"),
                 lines.c_str());
        QVERIFY2(lines.ends_with("\n--\nthere:1\n--flag\na b\n.\n"), lines.c_str());
        for (const char *word : {"\n--env=SECRET\n", "\n--env=POD_IP\n", "/etc/hosts:/etc/hosts:ro\n"})
            QVERIFY2(lines.find(word) != std::string::npos, word);
        QVERIFY(lines.find("s3cr3t") == std::string::npos);
        QVERIFY(lines.find("--env=PATH") == std::string::npos);
        const auto [code, output] = m_stand->exec("real", {"sh", "-c", "echo beside; exit 3"});
        QCOMPARE(output, std::string("beside\n"));
        QCOMPARE(code, 3);
        QVERIFY(linesOf().ends_with("exec\n" + name + "\nsh\n-c\necho beside; exit 3\n.\n"));
        QVERIFY(
            m_plane->client().remove(coreV1("pods", "default", "real")).has_value()); // SIGTERM is handed on
        QVERIFY(m_stand->waitGone("real"));
        QVERIFY(linesOf().find("kill\n") == std::string::npos);
    }

    void podmanKillsWhatDoesNotEnd()
    {
        m_stand->makePod("killed", podmanPod("pulled:1"));
        QVERIFY(m_stand->waitReady("killed"));
        QVERIFY(linesOf().find("pull\n--quiet\n--\npulled:1\n.\n") != std::string::npos);
        const std::string uid = m_stand->pod("killed")["metadata"]["uid"];
        KubeDeleteOptions atOnce;
        atOnce.gracePeriodSeconds = 0;
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "killed"), atOnce).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(linesOf().find("kill\nslipway-" + uid + "-main\n.\n") != std::string::npos,
                                 30000);
    }

    void imagesThatPodmanCannotHaveAreSaid()
    {
        json pod = podmanPod("missing:1");
        m_stand->makePod("missing", pod);
        QVERIFY(!m_stand
                     ->waitFor("missing",
                               [](const json &pod) { return waitingReasonOf(pod) == "ImagePullBackOff"; })
                     .is_null());
        QVERIFY(m_stand->waitForEvent("missing", "podman could not pull it: Error: initializing source"));
        pod["containers"][0]["imagePullPolicy"] = "Never";
        m_stand->makePod("never", pod);
        const json never = m_stand->waitFor(
            "never", [](const json &pod) { return waitingReasonOf(pod) == "ErrImageNeverPull"; });
        QVERIFY(firstStatus(never)["state"]["waiting"]["message"]
                == "Container image \"missing:1\" is not present with pull policy of Never");
        QVERIFY(m_stand->waitForEvent("never", "Failed: Error: ErrImageNeverPull"));
    }

    void podsThatWereDeletedWhileTheirNodeWasLostGoWhenItReturns()
    {
        m_stand->makeNode("n2");
        json spec = podOf(shell("exec sleep 1000"));
        spec["nodeName"] = "n2";
        m_stand->makePod("evicted", spec, {{"annotations", {{"slipway.dev/runtime", "process"}}}});
        QVERIFY(m_stand->waitReady("evicted"));
        setLost(true);
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "evicted")).has_value());
        QTest::qWait(300); // nothing may happen meanwhile
        QVERIFY(m_stand->pod("evicted")["metadata"].contains("deletionTimestamp"));
        setLost(false);
        QVERIFY(m_stand->waitGone("evicted"));
    }

private:
    void setLost(bool isLost)
    {
        m_stand->onIo([isLost](NodeAgent &agent) {
            agent.setNodeLost("n2", isLost);
            return true;
        });
    }

    [[nodiscard]] std::string linesOf() const
    {
        std::ifstream file(std::filesystem::path(m_podman).parent_path() / "lines");
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }

    std::string logOf(const std::string &pod, const std::string &container)
    {
        return m_stand->onIo([&](NodeAgent &agent) -> std::string {
            auto reader = agent.access().openLog({"default", pod, container}, {}, {});
            if (!reader)
                return reader.error().message;
            const auto text = (*reader)->read(std::size_t{1} << 20);
            return text ? *text : text.error().message;
        });
    }

    std::string m_podman;
};

QTEST_GUILESS_MAIN(TestSpecialPods)
#include "tst_special_pods.moc"
