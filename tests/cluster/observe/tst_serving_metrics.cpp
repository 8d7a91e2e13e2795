#include "cluster/observe/serving_metrics.h"

#include "recorded.h"
#include <QTest>
#include <cmath>

using namespace cluster;

Q_DECLARE_METATYPE(std::optional<double>)
Q_DECLARE_METATYPE(cluster::ServingProduct)

namespace {

ServingSample readText(const std::string &text)
{
    return readServingMetrics(parsePrometheusText(text), SampleTime{std::chrono::seconds(1000)});
}

ServingSample readRecorded(const std::string &file)
{
    return readText(tests::recordedBody(file));
}

} // namespace

class TestServingMetrics : public QObject
{
    Q_OBJECT
private slots:
    void recordedPagesAreUnderstood_data();
    void recordedPagesAreUnderstood();
    void everyProductIsUnderstood_data();
    void everyProductIsUnderstood();
    void oldAndNewNamesTogetherAreNotAddedUp();
    void renamedMetricsAreSaid(); // F073
    void ratiosAreAveragedOverReplicasAndCountsAreSummed(); // F074
    void missingIsNotZeroAndIsExplained(); // F077
    void announcedWithoutAValueIsNotMissing();
    void theSameLineTwiceIsCountedOnce(); // F106
    void iterationTokensIsAHistogramDespiteItsName();
    void cacheCapacityComesFromLabels();
    void finishedRequestsAreReadByReason();
    void onlyServerErrorsAreErrors();
    void rayNodesWithoutVllmHaveNoSample();
    void aggregationOfNothingIsEmpty();
};

void TestServingMetrics::recordedPagesAreUnderstood_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<ServingProduct>("product");
    QTest::addColumn<double>("running");
    QTest::addColumn<double>("promptTokens");
    QTest::addColumn<double>("outputTokens");
    QTest::addColumn<double>("ttftCount");
    QTest::addColumn<double>("ttftSum");
    QTest::newRow("vLLM 0.32 at start") << "observed-vllm/v0.32.0/metrics-at-start.http"
                                        << ServingProduct::Vllm << 0. << 0. << 0. << 0. << 0.;
    QTest::newRow("vLLM 0.32 under load") << "observed-vllm/v0.32.0/metrics-during-load.http"
                                          << ServingProduct::Vllm << 1. << 1774. << 486. << 90. << -1.;
    QTest::newRow("vLLM 0.8.5 after load")
        << "observed-vllm/v0.8.5/metrics-after-load.http" << ServingProduct::Vllm << 0. << 479. << 304. << 30.
        << 50.982685804367065;
    QTest::newRow("Ray Serve LLM") << "observed-ray/10-llm-head-metrics.http" << ServingProduct::RayServeVllm
                                   << 0. << 123. << 21. << 7. << 48.5;
}

void TestServingMetrics::recordedPagesAreUnderstood()
{
    QFETCH(QString, file);
    QFETCH(double, running);
    QFETCH(double, promptTokens);
    QFETCH(double, outputTokens);
    QFETCH(double, ttftCount);
    QFETCH(double, ttftSum);
    const ServingSample sample = readRecorded(file.toStdString());
    QTEST(sample.product, "product");
    QCOMPARE(sample.modelNames, std::vector<std::string>{"smollm2"});
    QCOMPARE(sample.engineCount, 1);
    QVERIFY(sample.running && sample.waiting && sample.kvUse);
    QCOMPARE(*sample.running, running);
    QCOMPARE(sample.promptTokens->total(), promptTokens);
    QCOMPARE(sample.outputTokens->total(), outputTokens);
    QVERIFY(sample.ttft && sample.interToken && sample.endToEnd && sample.queueTime);
    QCOMPARE(sample.ttft->merged().count, ttftCount);
    if (ttftSum >= 0)
        QCOMPARE(sample.ttft->merged().sum, ttftSum);
    QVERIFY(std::isinf(sample.ttft->merged().buckets.back().upperBound));
    QVERIFY(sample.steps && sample.errors);
}

void TestServingMetrics::everyProductIsUnderstood_data()
{
    QTest::addColumn<QString>("page");
    QTest::addColumn<ServingProduct>("product");
    QTest::addColumn<double>("running"); // -1: not exported
    QTest::addColumn<double>("waiting");
    QTest::addColumn<double>("kvUse");
    QTest::addColumn<double>("outputTokens");
    QTest::addColumn<double>("ttft");
    QTest::newRow("vLLM V0")
        << "vllm:num_requests_running{model_name=\"m\"} 2\nvllm:num_requests_waiting{model_name=\"m\"} 3\n"
           "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\nvllm:generation_tokens_total 9\n"
           "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 4\nvllm:time_to_first_token_seconds_count "
           "4\n"
        << ServingProduct::Vllm << 2. << 3. << .5 << 9. << 4.;
    QTest::newRow("Ray with a colon, no suffix")
        << "ray_vllm:num_requests_running 2\nray_vllm:num_requests_waiting 3\n"
           "ray_vllm:gpu_cache_usage_perc 0.5\nray_vllm:generation_tokens 9\n"
        << ServingProduct::RayServeVllm << 2. << 3. << .5 << 9. << -1.;
    QTest::newRow("SGLang")
        << "sglang:num_running_reqs 2\nsglang:num_queue_reqs 3\nsglang:token_usage 0.5\n"
           "sglang:generation_tokens_total 9\nsglang:time_to_first_token_seconds_count 4\n"
        << ServingProduct::Sglang << 2. << 3. << .5 << 9. << 4.;
    QTest::newRow("TGI") << "tgi_batch_current_size 2\ntgi_queue_size 3\ntgi_request_generated_tokens_sum 9\n"
                         << ServingProduct::Tgi << 2. << 3. << -1. << 9. << -1.;
    QTest::newRow("llama.cpp") << "llamacpp:requests_processing 2\nllamacpp:requests_deferred 3\n"
                                  "llamacpp:kv_cache_usage_ratio 0.5\nllamacpp:tokens_predicted_total 9\n"
                               << ServingProduct::LlamaCpp << 2. << 3. << .5 << 9. << -1.;
    QTest::newRow("JetStream")
        << "jetstream_slots_used_percentage{id=\"a\",idx=\"0\"} 0.25\njetstream_prefill_backlog_size 3\n"
           "kv_cache_utilization_perc 0.5\njetstream_request_output_length_sum 9\n"
           "jetstream_time_to_first_token_count 4\n"
        << ServingProduct::JetStream << -1. << 3. << .5 << 9. << 4.;
}

void TestServingMetrics::everyProductIsUnderstood()
{
    QFETCH(QString, page);
    const ServingSample sample = readText(page.toStdString());
    const double running = sample.running.value_or(-1);
    const double waiting = sample.waiting.value_or(-1);
    const double kvUse = sample.kvUse.value_or(-1);
    const double outputTokens = sample.outputTokens ? sample.outputTokens->total() : -1;
    const double ttft = sample.ttft ? sample.ttft->merged().count : -1;
    QTEST(sample.product, "product");
    QTEST(running, "running");
    QTEST(waiting, "waiting");
    QTEST(kvUse, "kvUse");
    QTEST(outputTokens, "outputTokens");
    QTEST(ttft, "ttft");
}

void TestServingMetrics::oldAndNewNamesTogetherAreNotAddedUp()
{
    const ServingSample sample
        = readText("vllm:gpu_cache_usage_perc 0.4\nvllm:kv_cache_usage_perc 0.4\n"
                   "vllm:gpu_prefix_cache_queries_total 10\nvllm:prefix_cache_queries_total 160\n"
                   "vllm:gpu_prefix_cache_hits_total 5\nvllm:prefix_cache_hits_total 80\n"
                   "vllm:generation_tokens_total 7\nray_vllm_generation_tokens_total 7\n");
    QCOMPARE(sample.kvUse.value_or(0), 0.4);
    QCOMPARE(sample.prefixQueries->total(), 160.0);
    QCOMPARE(sample.prefixHits->total(), 80.0);
    QCOMPARE(sample.outputTokens->total(), 7.0);
}

void TestServingMetrics::renamedMetricsAreSaid()
{
    const ServingSample older = readRecorded("observed-vllm/v0.8.5/metrics-after-load.http");
    const ServingSample newer = readRecorded("observed-vllm/v0.32.0/metrics-after-load.http");
    QCOMPARE(older.source(ServingField::KvUse)->name, std::string("vllm:gpu_cache_usage_perc"));
    QVERIFY(older.source(ServingField::KvUse)->renamed.find("kv_cache_usage_perc in vLLM 0.9")
            != std::string::npos);
    QCOMPARE(newer.source(ServingField::KvUse)->name, std::string("vllm:kv_cache_usage_perc"));
    QVERIFY(newer.source(ServingField::KvUse)->renamed.find("vllm:gpu_cache_usage_perc")
            != std::string::npos);
    QCOMPARE(older.source(ServingField::InterToken)->name, std::string("vllm:time_per_output_token_seconds"));
    QCOMPARE(newer.source(ServingField::InterToken)->name, std::string("vllm:inter_token_latency_seconds"));
    QVERIFY(newer.source(ServingField::Running)->renamed.empty());
}

void TestServingMetrics::ratiosAreAveragedOverReplicasAndCountsAreSummed()
{
    std::vector<NamedSample> pods;
    for (int i = 0; i < 4; ++i) {
        pods.push_back(
            {"pod-" + std::to_string(i),
             readText(
                 "vllm:num_requests_running{engine=\"0\"} 5\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.6\n"
                 "vllm:generation_tokens_total{engine=\"0\"} 100\n")});
    }
    ServingSample total = aggregate(pods);
    QCOMPARE(total.kvUse.value_or(0), 0.6); // not 2.4
    QCOMPARE(total.running.value_or(0), 20.0);
    QCOMPARE(total.outputTokens->total(), 400.0);
    QCOMPARE(total.outputTokens->parts.size(), 4u);
    QCOMPARE(total.engineCount, 4);
    QVERIFY(!total.waiting);
    // The same within one page: engines of data parallelism.
    total = readText(
        "vllm:num_requests_running{engine=\"0\"} 5\nvllm:num_requests_running{engine=\"1\"} 7\n"
        "vllm:kv_cache_usage_perc{engine=\"0\"} 0.9\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.7\n");
    QCOMPARE(total.kvUse.value_or(0), 0.8);
    QCOMPARE(total.running.value_or(0), 12.0);
    QCOMPARE(total.engineCount, 2);
}

void TestServingMetrics::missingIsNotZeroAndIsExplained()
{
    const ServingSample sample = readText("vllm:num_requests_running 1\n");
    QVERIFY(!sample.ttft && !sample.kvUse && !sample.preemptions && !sample.waiting);
    const std::string why = sample.whyMissing(ServingField::Ttft);
    QVERIFY2(why.find("not exported by this version of vLLM") != std::string::npos, why.c_str());
    QVERIFY2(why.find("vllm:time_to_first_token_seconds") != std::string::npos, why.c_str());
    QVERIFY(sample.whyMissing(ServingField::Running).empty());
    const ServingSample tgi = readText("tgi_queue_size 1\n");
    QVERIFY(tgi.whyMissing(ServingField::Ttft).find("TGI does not export this") != std::string::npos);
}

void TestServingMetrics::announcedWithoutAValueIsNotMissing()
{
    const ServingSample sample = readRecorded("observed-vllm/v0.8.5/metrics-at-start.http");
    QVERIFY(!sample.running && !sample.ttft);
    QVERIFY(sample.whyMissing(ServingField::Ttft).find("after its first request") != std::string::npos);
    QVERIFY(sample.errors); // requests are counted, and there was none
    QCOMPARE(sample.errors->total(), 0.0);
    QVERIFY(!sample.whyMissing(ServingField::Rejected).empty());
}

void TestServingMetrics::theSameLineTwiceIsCountedOnce()
{
    const ServingSample sample = readText("vllm:num_requests_running{model_name=\"m\"} 2\n"
                                          "vllm:num_requests_running{model_name=\"m\"} 3\n"
                                          "vllm:generation_tokens_total{model_name=\"m\"} 7\n"
                                          "vllm:generation_tokens_total{model_name=\"m\"} 7\n"
                                          "vllm:num_requests_waiting NaN\n");
    QCOMPARE(sample.running.value_or(0), 3.0);
    QCOMPARE(sample.outputTokens->total(), 7.0);
    QVERIFY(!sample.waiting);
}

void TestServingMetrics::iterationTokensIsAHistogramDespiteItsName()
{
    const ServingSample sample = readRecorded("observed-vllm/v0.8.5/metrics-after-load.http");
    QCOMPARE(sample.steps->total(), 142.0);
    const ServingSample ray = readRecorded("observed-ray/10-llm-head-metrics.http");
    QCOMPARE(ray.steps->total(), 21.0);
}

void TestServingMetrics::cacheCapacityComesFromLabels()
{
    QCOMPARE(readRecorded("observed-vllm/v0.32.0/metrics-at-start.http").kvCapacityTokens.value_or(0),
             46592.0);
    QCOMPARE(readRecorded("observed-vllm/v0.8.5/metrics-at-start.http").kvCapacityTokens.value_or(0),
             23296.0);
    QVERIFY(
        !readText("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1\n").kvCapacityTokens);
}

void TestServingMetrics::finishedRequestsAreReadByReason()
{
    const ServingSample newer = readRecorded("observed-vllm/v0.32.0/metrics-after-load.http");
    QCOMPARE(newer.finished.size(), 5u);
    QCOMPARE(newer.finished.at("stop").total(), 15.0);
    QCOMPARE(newer.finished.at("length").total(), 88.0);
    QCOMPARE(newer.finished.at("repetition").total(), 0.0);
    QVERIFY(newer.finished.at("stop").parts.at(0).created);
    QCOMPARE(newer.rejected->total(), 0.0);
    const ServingSample older = readRecorded("observed-vllm/v0.8.5/metrics-after-load.http");
    QCOMPARE(older.finished.size(), 2u);
}

void TestServingMetrics::onlyServerErrorsAreErrors()
{
    // 115 answers of this server were 4xx: the callers' mistakes.
    QCOMPARE(readRecorded("observed-vllm/v0.32.0/metrics-after-load.http").errors->total(), 0.0);
    const ServingSample sample
        = readText("http_requests_total{status=\"5xx\",handler=\"/v1/completions\"} 3\n"
                   "http_requests_total{status=\"5xx\",handler=\"none\"} 1\n"
                   "http_requests_total{status=\"4xx\",handler=\"none\"} 9\n"
                   "vllm:num_requests_running 0\n");
    QCOMPARE(sample.errors->total(), 4.0);
}

void TestServingMetrics::rayNodesWithoutVllmHaveNoSample()
{
    const ServingSample sample = readRecorded("observed-ray/06-metrics-worker1-metrics.http");
    QVERIFY(!sample.running && !sample.outputTokens && !sample.ttft);
    QCOMPARE(sample.product, ServingProduct::Unknown);
    QVERIFY(sample.modelNames.empty());
}

void TestServingMetrics::aggregationOfNothingIsEmpty()
{
    const ServingSample none = aggregate({});
    QVERIFY(!none.running && !none.kvUse && none.finished.empty());
    const ServingSample one = readRecorded("observed-vllm/v0.32.0/metrics-after-load.http");
    const ServingSample both = aggregate({{"a", one}, {"b", ServingSample{}}});
    QCOMPARE(both.kvUse, one.kvUse);
    QCOMPARE(both.ttft->merged().count, one.ttft->merged().count);
}

QTEST_APPLESS_MAIN(TestServingMetrics)
#include "tst_serving_metrics.moc"
