#include "models/metrics/chart_catalog.h"

namespace models {
const std::vector<CatalogChart> &chartCatalog()
{
    using cluster::ChartMetric;
    constexpr double fullKvCache = 0.9; // vLLM begins to preempt a little above
    static const std::vector<CatalogChart> charts{
        {"requests",
         "Requests",
         ChartUnit::Count,
         {{ChartMetric::RequestsRunning, "running"}, {ChartMetric::RequestsWaiting, "waiting"}},
         false,
         {}},
        {"kv",
         "KV cache use",
         ChartUnit::Ratio,
         {{ChartMetric::KvUse, "mean of engines"}},
         false,
         ChartLimit{fullKvCache, QStringLiteral("warn 90%")}},
        {"tokens",
         "Tokens per second",
         ChartUnit::PerSecond,
         {{ChartMetric::OutputTokensPerSecond, "output"}, {ChartMetric::PromptTokensPerSecond, "prompt"}},
         false,
         {}},
        {"ttft",
         "Time to first token",
         ChartUnit::Seconds,
         {{ChartMetric::TtftP50, "p50"}, {ChartMetric::TtftP95, "p95"}, {ChartMetric::TtftP99, "p99"}},
         true,
         {}},
        {"tpot",
         "Time per output token",
         ChartUnit::Seconds,
         {{ChartMetric::TpotP50, "p50"}, {ChartMetric::TpotP95, "p95"}, {ChartMetric::TpotP99, "p99"}},
         true,
         {}},
        {"e2e",
         "End-to-end latency",
         ChartUnit::Seconds,
         {{ChartMetric::EndToEndP50, "p50"},
          {ChartMetric::EndToEndP95, "p95"},
          {ChartMetric::EndToEndP99, "p99"}},
         true,
         {}},
        {"queue", "Queue time", ChartUnit::Seconds, {{ChartMetric::QueueTimeP95, "p95"}}, true, {}},
        {"prefix",
         "Prefix cache hit ratio",
         ChartUnit::Ratio,
         {{ChartMetric::PrefixHitRatio, "hits"}},
         true,
         {}},
        {"errors",
         "Preemptions and errors, per minute",
         ChartUnit::PerMinute,
         {{ChartMetric::PreemptionsPerMinute, "preemptions"}, {ChartMetric::ErrorsPerMinute, "errors"}},
         false,
         {}},
    };
    return charts;
}
} // namespace models
