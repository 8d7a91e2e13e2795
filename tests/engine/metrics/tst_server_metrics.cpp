#include "engine/metrics/metric_families.h"
#include "engine/metrics/server_metrics.h"
#include "engine/metrics/serving_families.h"

#include "page_shape.h"
#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace engine;
using tests::PageLine;
using tests::ShapedPage;
using tests::shapeOf;

namespace {

const std::string labels032 = "{engine=\"0\",model_name=\"smollm2\"}";

ServerMetricsOptions optionsOf(ApiDialect dialect)
{
    return {"smollm2", dialect, 512, 46592, true};
}

std::string withReason(const std::string &label, const std::string &value)
{
    std::vector<std::string> parts = {"engine=\"0\"", "model_name=\"smollm2\"", label + "=\"" + value + "\""};
    std::sort(parts.begin(), parts.end());
    return "{" + parts[0] + "," + parts[1] + "," + parts[2] + "}";
}

FinishedRequest aRequest()
{
    FinishedRequest request;
    request.reason = FinishReason::Length;
    request.promptTokens = 30;
    request.cachedPromptTokens = 10;
    request.generationTokens = 5;
    request.maxTokens = 5;
    request.arrival = Seconds(100);
    request.times = {Seconds(100.5), Seconds(101), Seconds(103), Seconds(107)};
    return request;
}

RunnerStats statsOf(std::int64_t queries, std::int64_t hits, std::int64_t preemptions)
{
    RunnerStats stats;
    stats.prefixQueries = queries;
    stats.prefixHits = hits;
    stats.preemptions = preemptions;
    return stats;
}

/// Differences from vLLM that are meant. A test that never meets one of them fails: it would be out of date.
class Allowances
{
public:
    explicit Allowances(std::vector<std::pair<std::string, std::string>> prefixesAndReasons)
        : m_allowances(std::move(prefixesAndReasons))
    {
    }

    bool covers(const std::string &name)
    {
        for (std::size_t i = 0; i < m_allowances.size(); ++i) {
            if (name.rfind(m_allowances[i].first, 0) == 0) {
                m_used.insert(i);
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] std::string unused() const
    {
        std::string names;
        for (std::size_t i = 0; i < m_allowances.size(); ++i)
            names += m_used.contains(i) ? "" : m_allowances[i].first + " (" + m_allowances[i].second + ") ";
        return names;
    }

private:
    std::vector<std::pair<std::string, std::string>> m_allowances;
    std::set<std::size_t> m_used;
};

using AllowanceList = std::vector<std::pair<std::string, std::string>>;

const std::pair<std::string, std::string> noPython = {"python_", "there is no Python in the process"};

/// "name type" and each family's sample names with their label names: the shape, without counting label
/// values.
std::set<std::string> shapeLines(const ShapedPage &page, Allowances &allowed)
{
    std::set<std::string> shape;
    for (const auto &[name, type] : page.types) {
        if (!allowed.covers(name))
            shape.insert(name + " " + type);
    }
    for (const PageLine &line : page.lines) {
        if (allowed.covers(line.name))
            continue;
        std::string text = line.name;
        for (const std::string &label : line.labelNames)
            text += " " + label;
        shape.insert(text);
    }
    return shape;
}

std::string difference(const std::set<std::string> &left, const std::set<std::string> &right)
{
    std::vector<std::string> only;
    std::set_difference(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(only));
    std::string text;
    for (const std::string &one : only)
        text += one + "\n";
    return text;
}

void serveSomething(ServerMetrics &metrics)
{
    metrics.firstToken(Seconds(0.3), 30, 10);
    metrics.laterTokens(Seconds(0.02), 4);
    metrics.generatedTokens(5);
    metrics.finished(aRequest());
    metrics.http({"POST", "/v1/completions", 200, Seconds(0.7), 120, 900});
    metrics.http({"POST", "/v1/completions", 400, Seconds(0.001), 10, 90});
}

} // namespace

class TestServerMetrics : public QObject
{
    Q_OBJECT
private slots:
    void numbersAreWrittenAsOnTheRecordedPages_data();
    void numbersAreWrittenAsOnTheRecordedPages();
    void oddNumbers_data();
    void oddNumbers();
    void theNewestPageAtStartIsSeriesForSeriesVllms();
    void theNewestPageUnderLoadHasVllmsShape();
    void thePageOf085HasTheShapeRecordedFromV0ButForTheEngineLabel();
    void everyFamilyHasHelpAndIsThereOnce_data();
    void everyFamilyHasHelpAndIsThereOnce();
    void aRequestIsCountedInEachFamily();
    void aClientThatLeftIsCountedUnderNoReason();
    void choicesOfOneRequestCountNOnce();
    void countersGoOnWhenTheRunnerStartsAgain();
    void the085PageCountsPrefixBlocks();
    void rejectionsAndToolCallsAreCounted();
    void probesAreNoHttpTraffic();
    void strangeMethodsDoNotMakeSeries();
    void labelValuesAreEscaped();
    void bucketsFollowTheContextLength_data();
    void bucketsFollowTheContextLength();
    void theProcessIsThisProcess();
};

void TestServerMetrics::numbersAreWrittenAsOnTheRecordedPages_data()
{
    QTest::addColumn<QString>("file");
    for (const char *file : {"v0.32.0/metrics-at-start.http", "v0.32.0/metrics-after-load.http",
                             "v0.32.0/flags-metrics-after-load.http", "v0.8.5/metrics-after-load.http",
                             "v0.8.5/flags-metrics-after-load.http"})
        QTest::newRow(file) << file;
}

void TestServerMetrics::numbersAreWrittenAsOnTheRecordedPages()
{
    QFETCH(QString, file);
    const ShapedPage page = shapeOf(tests::recordedPage(file.toStdString()));
    QVERIFY(page.lines.size() > 200);
    for (const PageLine &line : page.lines)
        QCOMPARE(exposition::numberText(std::stod(line.value)), line.value);
}

void TestServerMetrics::oddNumbers_data()
{
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text"); // what Python's client writes
    QTest::newRow("zero") << 0.0 << "0.0";
    QTest::newRow("small") << 0.0001 << "0.0001";
    QTest::newRow("smaller") << 0.000015 << "1.5e-05";
    QTest::newRow("six digits") << 999999.5 << "999999.5";
    QTest::newRow("a million") << 1000000.0 << "1e+06";
    QTest::newRow("big") << 1234567.25 << "1.23456725e+06";
    QTest::newRow("huge") << 1e16 << "1e+16";
    QTest::newRow("minus") << -2.5 << "-2.5";
    QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << "+Inf";
    QTest::newRow("minus infinite") << -std::numeric_limits<double>::infinity() << "-Inf";
    QTest::newRow("nothing") << std::nan("") << "NaN";
}

void TestServerMetrics::oddNumbers()
{
    QFETCH(double, value);
    QTEST(QString::fromStdString(exposition::numberText(value)), "text");
}

void TestServerMetrics::theNewestPageAtStartIsSeriesForSeriesVllms()
{
    const ShapedPage theirs = shapeOf(tests::recordedPage("v0.32.0/metrics-at-start.http"));
    const ShapedPage ours = shapeOf(ServerMetrics(optionsOf(ApiDialect::Newest)).render());
    Allowances allowed(
        {noPython, {"vllm:cache_config_info", "its labels are the settings of another cache"}});
    const auto typesOf = [&allowed](const ShapedPage &page) {
        std::vector<std::pair<std::string, std::string>> types;
        for (const auto &type : page.types) {
            if (!allowed.covers(type.first))
                types.push_back(type);
        }
        return types;
    };
    QCOMPARE(typesOf(ours), typesOf(theirs));
    const auto seriesOf = [&allowed](const ShapedPage &page) {
        std::vector<std::string> series;
        for (const PageLine &line : page.lines) {
            if (!allowed.covers(line.name))
                series.push_back(line.series());
        }
        return series;
    };
    const auto ourSeries = seriesOf(ours);
    const auto theirSeries = seriesOf(theirs);
    for (std::size_t i = 0; i < std::min(ourSeries.size(), theirSeries.size()); ++i)
        QCOMPARE(ourSeries[i], theirSeries[i]);
    QCOMPARE(ourSeries.size(), theirSeries.size());
    QCOMPARE(allowed.unused(), std::string());
    for (const PageLine &line : ours.lines) {
        const bool starts = line.name.find("_created") == std::string::npos
            && line.name.rfind("process_", 0) != 0 && line.name != "vllm:cache_config_info"
            && line.labels.find("\"awake\"") == std::string::npos;
        if (starts)
            QCOMPARE(line.value, std::string("0.0"));
    }
}

void TestServerMetrics::theNewestPageUnderLoadHasVllmsShape()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    serveSomething(metrics);
    Allowances theirAllowance(AllowanceList{noPython});
    Allowances ourAllowance(AllowanceList{});
    const auto theirs
        = shapeLines(shapeOf(tests::recordedPage("v0.32.0/metrics-after-load.http")), theirAllowance);
    const auto ours = shapeLines(shapeOf(metrics.render()), ourAllowance);
    QCOMPARE(difference(ours, theirs), std::string());
    QCOMPARE(difference(theirs, ours), std::string());
    QCOMPARE(theirAllowance.unused(), std::string());
}

void TestServerMetrics::thePageOf085HasTheShapeRecordedFromV0ButForTheEngineLabel()
{
    ServerMetrics metrics(optionsOf(ApiDialect::V085));
    serveSomething(metrics);
    ShapedPage ours = shapeOf(metrics.render());
    for (PageLine &line : ours.lines) {
        const bool hasEngine = line.name.rfind("vllm:", 0) == 0;
        QCOMPARE(std::count(line.labelNames.begin(), line.labelNames.end(), "engine"), hasEngine ? 1 : 0);
        std::erase(line.labelNames, "engine");
    }
    ShapedPage recorded = shapeOf(tests::recordedPage("v0.8.5/metrics-after-load.http"));
    for (PageLine &line : recorded.lines)
        std::erase(line.labelNames, "cpu_kvcache_space_bytes"); // a label of the CPU build
    Allowances theirAllowance(AllowanceList{noPython,
                                            {"vllm:lora_requests_info", "only with LoRA in engine V1"},
                                            {"vllm:spec_decode_", "only with speculation in engine V1"}});
    std::erase_if(ours.types, [](const auto &type) { return type.first.ends_with("_created"); });
    std::erase_if(ours.lines,
                  [](const PageLine &line) { return line.name.ends_with("_created"); }); // V0 has them off
    Allowances ourAllowance(AllowanceList{{"vllm:gpu_prefix_cache_", "engine V1 counts them, V0 does not"}});
    const auto theirShape = shapeLines(recorded, theirAllowance);
    const auto ourShape = shapeLines(ours, ourAllowance);
    QCOMPARE(difference(ourShape, theirShape), std::string());
    QCOMPARE(difference(theirShape, ourShape), std::string());
    QCOMPARE(theirAllowance.unused() + ourAllowance.unused(), std::string());
}

void TestServerMetrics::everyFamilyHasHelpAndIsThereOnce_data()
{
    QTest::addColumn<int>("dialect");
    QTest::newRow("newest") << static_cast<int>(ApiDialect::Newest);
    QTest::newRow("0.8.5") << static_cast<int>(ApiDialect::V085);
}

void TestServerMetrics::everyFamilyHasHelpAndIsThereOnce()
{
    QFETCH(int, dialect);
    ServerMetrics metrics(optionsOf(static_cast<ApiDialect>(dialect)));
    serveSomething(metrics);
    const ShapedPage page = shapeOf(metrics.render());
    std::set<std::string> seen;
    for (const auto &[name, type] : page.types) {
        QVERIFY2(seen.insert(name).second, name.c_str());
        QVERIFY2(page.helpOf.contains(name), name.c_str());
    }
    std::set<std::string> series;
    for (const PageLine &line : page.lines)
        QVERIFY2(series.insert(line.series()).second, line.series().c_str());
}

void TestServerMetrics::aRequestIsCountedInEachFamily()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    serveSomething(metrics);
    const ShapedPage page = shapeOf(metrics.render());
    const auto value = [&page](const std::string &name) { return page.value("vllm:" + name + labels032); };
    QCOMPARE(value("prompt_tokens_total"), 30.0);
    QCOMPARE(value("prompt_tokens_cached_total"), 10.0);
    QCOMPARE(value("generation_tokens_total"), 5.0);
    QCOMPARE(value("time_to_first_token_seconds_sum"), 0.3);
    QCOMPARE(value("inter_token_latency_seconds_count"), 4.0);
    QCOMPARE(value("e2e_request_latency_seconds_sum"), 7.0);
    QCOMPARE(value("request_queue_time_seconds_sum"), 0.5);
    QCOMPARE(value("request_prefill_time_seconds_sum"), 2.0);
    QCOMPARE(value("request_decode_time_seconds_sum"), 4.0);
    QCOMPARE(value("request_inference_time_seconds_sum"), 6.0);
    QCOMPARE(value("request_time_per_output_token_seconds_sum"), 1.0);
    QCOMPARE(value("request_prefill_kv_computed_tokens_sum"), 20.0);
    QCOMPARE(page.value("vllm:request_success_total" + withReason("finished_reason", "length")), 1.0);
    QCOMPARE(page.value("vllm:prompt_tokens_by_source_total" + withReason("source", "local_compute")), 20.0);
    // A value on a bound belongs to the bucket of the bound.
    QCOMPARE(page.value("vllm:request_generation_tokens_bucket" + withReason("le", "5.0")), 1.0);
    QCOMPARE(page.value("vllm:request_generation_tokens_bucket" + withReason("le", "2.0")), 0.0);
    QCOMPARE(page.value("vllm:request_generation_tokens_bucket" + withReason("le", "+Inf")), 1.0);
    QCOMPARE(page.value("http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"4xx\"}"),
             1.0);
    QCOMPARE(page.value("http_response_size_bytes_sum{handler=\"/v1/completions\"}"), 990.0);
    QCOMPARE(
        page.value(
            "http_request_duration_seconds_bucket{handler=\"/v1/completions\",le=\"0.5\",method=\"POST\"}"),
        1.0);
}

void TestServerMetrics::aClientThatLeftIsCountedUnderNoReason()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    FinishedRequest request = aRequest();
    request.reason = FinishReason::Abort;
    request.countReason = false;
    metrics.finished(request);
    const ShapedPage page = shapeOf(metrics.render());
    QCOMPARE(page.value("vllm:request_success_total" + withReason("finished_reason", "abort")), 0.0);
    QCOMPARE(page.value("vllm:e2e_request_latency_seconds_count" + labels032), 0.0);
}

void TestServerMetrics::choicesOfOneRequestCountNOnce()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    FinishedRequest choice = aRequest();
    choice.n = 2;
    choice.endsRequest = false;
    metrics.finished(choice);
    choice.endsRequest = true;
    choice.longestGeneration = 9;
    metrics.finished(choice);
    const ShapedPage page = shapeOf(metrics.render());
    QCOMPARE(page.value("vllm:request_params_n_count" + labels032), 1.0);
    QCOMPARE(page.value("vllm:request_params_n_sum" + labels032), 2.0);
    QCOMPARE(page.value("vllm:request_max_num_generation_tokens_sum" + labels032), 9.0);
    QCOMPARE(page.value("vllm:request_generation_tokens_count" + labels032), 2.0);
}

void TestServerMetrics::countersGoOnWhenTheRunnerStartsAgain()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    std::vector<double> last(3);
    const RunnerStats life[] = {statsOf(100, 40, 1), statsOf(250, 60, 1), statsOf(0, 0, 0), statsOf(30, 5, 0),
                                statsOf(900, 50, 2)};
    for (const RunnerStats &stats : life) {
        metrics.runnerStats(stats);
        const ShapedPage page = shapeOf(metrics.render());
        const std::vector<double> now = {page.value("vllm:prefix_cache_queries_total" + labels032),
                                         page.value("vllm:prefix_cache_hits_total" + labels032),
                                         page.value("vllm:num_preemptions_total" + labels032)};
        for (std::size_t i = 0; i < now.size(); ++i)
            QVERIFY(now[i] >= last[i]);
        last = now;
    }
    QCOMPARE(last, (std::vector<double>{250 + 900, 60 + 50, 1 + 2}));
    // One that fell is enough to know, though another one has already passed its old value.
    metrics.runnerStats(statsOf(950, 10, 2));
    QCOMPARE(shapeOf(metrics.render()).value("vllm:prefix_cache_queries_total" + labels032),
             250. + 900 + 950);
    RunnerStats gauges;
    gauges.running = 3;
    gauges.waiting = 2;
    gauges.kvUsedTokens = 10;
    gauges.kvTotalTokens = 40;
    gauges.stepTokens = {1, 8, 300};
    metrics.runnerStats(gauges);
    const ShapedPage page = shapeOf(metrics.render());
    QCOMPARE(page.value("vllm:num_requests_running" + labels032), 3.0);
    QCOMPARE(page.value("vllm:num_requests_waiting_by_reason" + withReason("reason", "capacity")), 2.0);
    QCOMPARE(page.value("vllm:kv_cache_usage_perc" + labels032), 0.25);
    QCOMPARE(page.value("vllm:iteration_tokens_total_bucket" + withReason("le", "8.0")), 2.0);
    QCOMPARE(page.value("vllm:iteration_tokens_total_sum" + labels032), 309.0);
}

void TestServerMetrics::the085PageCountsPrefixBlocks()
{
    ServerMetrics metrics(optionsOf(ApiDialect::V085));
    metrics.runnerStats(statsOf(40, 15, 0));
    metrics.runnerStats(statsOf(48, 33, 0));
    const ShapedPage page = shapeOf(metrics.render());
    QCOMPARE(page.value("vllm:gpu_prefix_cache_queries_total" + labels032), 3.0);
    QCOMPARE(page.value("vllm:gpu_prefix_cache_hits_total" + labels032), 2.0);
    QVERIFY(!page.has("vllm:prefix_cache_queries_total" + labels032));
}

void TestServerMetrics::rejectionsAndToolCallsAreCounted()
{
    for (const ApiDialect dialect : {ApiDialect::Newest, ApiDialect::V085}) {
        ServerMetrics metrics(optionsOf(dialect));
        metrics.rejected("max_num_queued_reqs");
        metrics.toolCallParsed("streaming", "tool_call", "chat_completions");
        const ShapedPage page = shapeOf(metrics.render());
        const std::string rejections
            = "vllm:admission_rejections_total{model_name=\"smollm2\",reason=\"max_num_queued_reqs\"}";
        const std::string calls
            = "vllm:tool_call_parser_invocations_total{mode=\"streaming\",model_name=\"smollm2\","
              "outcome=\"tool_call\",request_type=\"chat_completions\"}";
        QCOMPARE(page.has(rejections) && page.has(calls), dialect == ApiDialect::Newest);
        if (dialect == ApiDialect::Newest) {
            QCOMPARE(page.value(rejections), 1.0);
            QCOMPARE(page.value(calls), 1.0);
        }
    }
}

void TestServerMetrics::probesAreNoHttpTraffic()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    for (const char *handler : {"/metrics", "/health", "/load", "/ping", "/version", "/server_info"})
        metrics.http({"GET", handler, 200, Seconds(0.1), 0, 0});
    metrics.http({"GET", "none", 404, Seconds(0.1), 0, 22});
    const ShapedPage page = shapeOf(metrics.render());
    QCOMPARE(page.value("http_request_duration_highr_seconds_count"), 1.0);
    QCOMPARE(page.value("http_requests_total{handler=\"none\",method=\"GET\",status=\"4xx\"}"), 1.0);
}

void TestServerMetrics::strangeMethodsDoNotMakeSeries()
{
    ServerMetrics metrics(optionsOf(ApiDialect::Newest));
    const std::size_t before = shapeOf(metrics.render()).lines.size();
    for (int i = 0; i < 1000; ++i)
        metrics.http({"METHOD" + std::to_string(i), "none", 405, Seconds(0.1), 0, 0});
    QVERIFY(shapeOf(metrics.render()).lines.size() < before + 30);
}

void TestServerMetrics::labelValuesAreEscaped()
{
    ServerMetricsOptions options = optionsOf(ApiDialect::Newest);
    options.modelName = "a\"b\\c\nd";
    const std::string page = ServerMetrics(options).render();
    QVERIFY(page.find("vllm:num_requests_running{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\"} 0.0\n")
            != std::string::npos);
}

void TestServerMetrics::bucketsFollowTheContextLength_data()
{
    QTest::addColumn<int>("limit");
    QTest::addColumn<int>("count");
    QTest::addColumn<double>("last");
    QTest::newRow("512") << 512 << 9 << 500.0;
    QTest::newRow("exactly 1000") << 1000 << 10 << 1000.0;
    QTest::newRow("131072") << 131072 << 16 << 100000.0;
    QTest::newRow("one") << 1 << 1 << 1.0;
}

void TestServerMetrics::bucketsFollowTheContextLength()
{
    QFETCH(int, limit);
    const auto bounds = exposition::roundBounds(limit);
    const int count = static_cast<int>(bounds.size());
    const double last = bounds.back();
    QTEST(count, "count");
    QTEST(last, "last");
    QVERIFY(exposition::roundBounds(0).empty());
}

void TestServerMetrics::theProcessIsThisProcess()
{
    const ShapedPage page = shapeOf(ServerMetrics(optionsOf(ApiDialect::Newest)).render());
    const double now = static_cast<double>(std::time(nullptr));
    QVERIFY(page.value("process_start_time_seconds") <= now + 1);
    QVERIFY(page.value("process_start_time_seconds") > now - 3600);
    QVERIFY(page.value("process_resident_memory_bytes") > 1e6);
    QVERIFY(page.value("process_virtual_memory_bytes") >= page.value("process_resident_memory_bytes"));
    QVERIFY(page.value("process_open_fds") >= 3);
    QVERIFY(page.value("process_max_fds") >= page.value("process_open_fds"));
}

QTEST_APPLESS_MAIN(TestServerMetrics)
#include "tst_server_metrics.moc"
