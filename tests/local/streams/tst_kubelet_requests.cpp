#include "cluster/local/kubelet/command_request.h"
#include "cluster/local/kubelet/exec_status.h"
#include "cluster/local/kubelet/kubelet_pages.h"
#include "cluster/local/kubelet/label_selector.h"
#include "cluster/local/kubelet/metrics_objects.h"
#include "cluster/local/kubelet/resize_reader.h"

#include <QTest>
#include <array>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;
using namespace std::chrono_literals;

namespace {

ServerRequest asking(QueryFields query)
{
    ServerRequest request;
    request.query = std::move(query);
    return request;
}

const std::chrono::system_clock::time_point now{std::chrono::seconds(1'800'000'000)};

} // namespace

class KubeletRequestsTest : public QObject
{
    Q_OBJECT

private slots:
    void logsAreAskedForAsKubectlDoes();
    void numbersOfLogsThatMakeNoSenseAreRefused_data();
    void numbersOfLogsThatMakeNoSenseAreRefused();
    void timesAreReadToTheNanosecond_data();
    void timesAreReadToTheNanosecond();
    void anExecNeedsACommandAndAStream();
    void theBestProtocolThatBothKnowIsTaken();
    void terminalSizesComeInPieces();
    void anExecEndsWithTheStatusThatKubectlReads();
    void labelsAreSelectedAsTheApiDoes_data();
    void labelsAreSelectedAsTheApiDoes();
    void selectorsThatAreNoneAreRefused();
    void metricsAreOfWhatIsSelected();
    void aMetricsPageNamesPodsAndEscapesThem();
};

void KubeletRequestsTest::logsAreAskedForAsKubectlDoes()
{
    const auto options = parseLogOptions(asking({{"follow", "true"},
                                                 {"tailLines", "10"},
                                                 {"sinceSeconds", "60"},
                                                 {"timestamps", "true"},
                                                 {"limitBytes", "5"}}),
                                         now);
    QVERIFY(options.has_value());
    QVERIFY(options->follow && options->timestamps && !options->previous);
    QCOMPARE(options->tailLines, std::optional<std::int64_t>(10));
    QCOMPARE(options->limitBytes, std::optional<std::int64_t>(5));
    QVERIFY(options->since == now - 60s);
    const auto plain = parseLogOptions(asking({}), now);
    QVERIFY(!plain->follow && !plain->tailLines && !plain->since && !plain->limitBytes);
    QCOMPARE(parseLogOptions(asking({{"tailLines", "0"}}), now)->tailLines, std::optional<std::int64_t>(0));
}

void KubeletRequestsTest::numbersOfLogsThatMakeNoSenseAreRefused_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("value");
    QTest::newRow("negative tail") << "tailLines"
                                   << "-1";
    QTest::newRow("text") << "tailLines"
                          << "ten";
    QTest::newRow("too large") << "tailLines"
                               << "99999999999999999999";
    QTest::newRow("no bytes") << "limitBytes"
                              << "0";
    QTest::newRow("no seconds") << "sinceSeconds"
                                << "0";
    QTest::newRow("no time") << "sinceTime"
                             << "yesterday";
}

void KubeletRequestsTest::numbersOfLogsThatMakeNoSenseAreRefused()
{
    QFETCH(QString, name);
    QFETCH(QString, value);
    const auto options = parseLogOptions(asking({{name.toStdString(), value.toStdString()}}), now);
    QVERIFY(!options.has_value());
    QCOMPARE(options.error().code, ErrorCode::InvalidArgument);
    QVERIFY(options.error().message.find(name.toStdString()) != std::string::npos);
    QVERIFY(parseLogOptions(asking({{"sinceSeconds", "9223372036854775807"}}), now).has_value());
}

void KubeletRequestsTest::timesAreReadToTheNanosecond_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<qint64>("nanoseconds"); // -1: none
    QTest::newRow("UTC") << "1970-01-02T00:00:01Z" << qint64{86401000000000};
    QTest::newRow("fraction") << "1970-01-01T00:00:00.123456789Z" << qint64{123456789};
    QTest::newRow("short fraction") << "1970-01-01T00:00:00.5Z" << qint64{500000000};
    QTest::newRow("long fraction") << "1970-01-01T00:00:00.1234567891234567890123Z" << qint64{123456789};
    QTest::newRow("east") << "1970-01-01T02:30:00+02:30" << qint64{0};
    QTest::newRow("west") << "1969-12-31T23:00:00-01:00" << qint64{0};
    QTest::newRow("no zone") << "1970-01-01T00:00:00" << qint64{-1};
    QTest::newRow("no such day") << "2023-02-29T00:00:00Z" << qint64{-1};
    QTest::newRow("empty fraction") << "1970-01-01T00:00:00.Z" << qint64{-1};
    QTest::newRow("rest") << "1970-01-01T00:00:00Zx" << qint64{-1};
    QTest::newRow("far") << "9999-01-01T00:00:00Z" << qint64{-1};
    QTest::newRow("empty") << "" << qint64{-1};
}

void KubeletRequestsTest::timesAreReadToTheNanosecond()
{
    QFETCH(QString, text);
    QFETCH(qint64, nanoseconds);
    const auto time = parseSinceTime(text.toStdString());
    QCOMPARE(time ? qint64{std::chrono::nanoseconds(time->time_since_epoch()).count()} : qint64{-1},
             nanoseconds);
}

void KubeletRequestsTest::anExecNeedsACommandAndAStream()
{
    const auto exec = parseExecOptions(
        asking({{"command", "echo"}, {"command", "a b"}, {"output", "1"}, {"input", "1"}}), false);
    QVERIFY(exec.has_value());
    QCOMPARE(exec->command, (std::vector<std::string>{"echo", "a b"}));
    QVERIFY(exec->hasStdin && exec->hasStdout && !exec->hasStderr && !exec->tty);
    QVERIFY(!parseExecOptions(asking({{"output", "1"}}), false).has_value());
    QVERIFY(parseExecOptions(asking({{"output", "1"}}), true).has_value());
    QVERIFY(!parseExecOptions(asking({{"command", "x"}}), false).has_value());
    QVERIFY(!parseExecOptions(asking({{"command", "x"}, {"error", "1"}, {"tty", "1"}}), false).has_value());
}

void KubeletRequestsTest::theBestProtocolThatBothKnowIsTaken()
{
    ServerRequest request;
    request.headers = {{"X-Stream-Protocol-Version", "v3.channel.k8s.io"},
                       {"x-stream-protocol-version", " v4.channel.k8s.io , x"}};
    constexpr std::array<std::string_view, 2> accepted{"v4.channel.k8s.io", "v3.channel.k8s.io"};
    QCOMPARE(negotiated(request, "X-Stream-Protocol-Version", accepted),
             std::optional<std::string>("v4.channel.k8s.io"));
    QCOMPARE(offered(request, "X-Stream-Protocol-Version"),
             std::string("v3.channel.k8s.io, v4.channel.k8s.io, x"));
    request.headers = {{"X-Stream-Protocol-Version", ",,v9"}};
    QVERIFY(!negotiated(request, "X-Stream-Protocol-Version", accepted));
}

void KubeletRequestsTest::terminalSizesComeInPieces()
{
    ResizeReader reader;
    QVERIFY(reader.feed("{\"Width\":80,\"Hei").empty());
    const auto sizes = reader.feed(
        "ght\":24}\n{\"Width\":0,\"Height\":1}{\"Width\":70000,\"Height\":3}x{\"Height\":2,\"Width\":1}");
    QVERIFY((sizes == std::vector<TerminalSize>{{80, 24}, {1, 2}}));
    QVERIFY(reader.feed("{" + std::string(100000, 'x')).empty());
    QCOMPARE(reader.feed("{\"Width\":5,\"Height\":6}").size(), std::size_t{1});
}

void KubeletRequestsTest::anExecEndsWithTheStatusThatKubectlReads()
{
    QVERIFY(Json::parse(execStatus({0, ""})) == (Json{{"metadata", Json::object()}, {"status", "Success"}}));
    const Json failed = Json::parse(execStatus({3, ""}));
    QVERIFY(failed["status"] == "Failure");
    QVERIFY(failed["reason"] == "NonZeroExitCode");
    QVERIFY(failed["details"]["causes"][0] == (Json{{"reason", "ExitCode"}, {"message", "3"}}));
    const Json broken = Json::parse(execStatus({0, "no \xFF program"}));
    QVERIFY(broken["reason"] == "InternalError");
    QCOMPARE(execStatusText({3, ""}),
             std::string("command terminated with non-zero exit code: exit status 3"));
    QVERIFY(execStatusText({0, ""}).empty());
}

void KubeletRequestsTest::labelsAreSelectedAsTheApiDoes_data()
{
    QTest::addColumn<QString>("selector");
    QTest::addColumn<bool>("selects"); // {app: web, tier: front}
    QTest::newRow("empty") << "" << true;
    QTest::newRow("equal") << "app=web" << true;
    QTest::newRow("doubly equal") << "app == web" << true;
    QTest::newRow("other") << "app=db" << false;
    QTest::newRow("unequal") << "app!=db" << true;
    QTest::newRow("unequal, absent") << "zone!=a" << true;
    QTest::newRow("in") << "app in (db, web)" << true;
    QTest::newRow("not in") << "app notin (db,web)" << false;
    QTest::newRow("exists") << "tier" << true;
    QTest::newRow("not exists") << "!tier" << false;
    QTest::newRow("both") << "app=web,tier in (front),!zone" << true;
    QTest::newRow("one of both") << "app=web,tier=back" << false;
    QTest::newRow("empty value") << "app=" << false;
}

void KubeletRequestsTest::labelsAreSelectedAsTheApiDoes()
{
    QFETCH(QString, selector);
    QFETCH(bool, selects);
    const auto parsed = LabelSelector::parse(selector.toStdString());
    QVERIFY(parsed.has_value());
    QCOMPARE(parsed->selects({{"app", "web"}, {"tier", "front"}}), selects);
}

void KubeletRequestsTest::selectorsThatAreNoneAreRefused()
{
    for (const char *text :
         {"=web", "app in web", "app in (web", "app within (web)", "a b", "a=b;c=d", ",", "!", "a=\xFF"})
        QVERIFY2(!LabelSelector::parse(text).has_value(), text);
    QVERIFY(LabelSelector::parse("app")->selects({{"app", "x"}}));
    QVERIFY(!LabelSelector::parse("app")->selects(Json()));
    QVERIFY(!LabelSelector::parse("app")->selects(3));
}

void KubeletRequestsTest::metricsAreOfWhatIsSelected()
{
    const Json nodes = Json::array(
        {{{"metadata", {{"name", "n1"}, {"labels", {{"pool", "a"}}}}}}, {{"metadata", {{"name", "n2"}}}}});
    const std::vector<PodUsage> usage{
        {"default", "p", "u", "n1", {{"c", now, 5, 250'000'000, 3 << 20, 0}, {"d", now, 5, 1, 1024, 0}}}};
    const Json all = nodeMetrics(nodes, usage, *LabelSelector::parse(""), now);
    QCOMPARE(all.size(), std::size_t{2});
    QVERIFY(all[0]["usage"] == (Json{{"cpu", "250000001n"}, {"memory", "3073Ki"}}));
    QVERIFY(all[1]["usage"]["cpu"] == Json("0n"));
    QCOMPARE(nodeMetrics(nodes, usage, *LabelSelector::parse("pool=a"), now).size(), std::size_t{1});
    const Json pods = Json::array({{{"metadata", {{"name", "p"}, {"namespace", "default"}}}},
                                   {{"metadata", {{"name", "q"}, {"namespace", "default"}}}}});
    const Json measured = podMetrics(pods, usage, "", *LabelSelector::parse(""), now);
    QCOMPARE(measured.size(), std::size_t{1});
    QVERIFY(measured[0]["containers"][1]["name"] == Json("d"));
    QVERIFY(podMetrics(pods, usage, "other", *LabelSelector::parse(""), now).empty());
}

void KubeletRequestsTest::aMetricsPageNamesPodsAndEscapesThem()
{
    const std::vector<PodUsage> usage{{"ns", "p\"q", "u", "n1", {{"c", now, 1'500'000'000, 5, 4096, 2048}}}};
    const std::string page = resourceMetrics(usage, now);
    QVERIFY(page.find("container_cpu_usage_seconds_total{container=\"c\",namespace=\"ns\",pod=\"p\\\"q\"} "
                      "1.5 1800000000000\n")
            != std::string::npos);
    QVERIFY(page.find("node_memory_working_set_bytes 4096 ") != std::string::npos);
    QVERIFY(cadvisorMetrics(usage, now).find("container_memory_rss{container=\"c\"") != std::string::npos);
    const Json summary = statsSummary("n1", usage, now);
    QVERIFY(summary["pods"][0]["containers"][0]["memory"]["rssBytes"] == Json(2048));
    QVERIFY(summary["node"]["nodeName"] == Json("n1"));
    QVERIFY(podList(Json::array({{{"status", {{"phase", "Running"}}}}, Json::object()}), true)["items"].size()
            == std::size_t{1});
}

QTEST_APPLESS_MAIN(KubeletRequestsTest)
#include "tst_kubelet_requests.moc"
