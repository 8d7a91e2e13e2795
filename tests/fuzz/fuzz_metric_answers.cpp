// What the metrics adapter reads from others: Prometheus's answers, errors of Google's side, the metadata
// server's token, the API server's ConfigMap.

#include "cluster/local/metricsapi/metadata_client.h"
#include "cluster/local/metricsapi/metric_values.h"
#include "cluster/local/metricsapi/request_review.h"

#include <cstdlib>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    if (const auto samples = metricSamples(text)) {
        for (const MetricSample &sample : *samples) {
            if (!sample.labels.is_object() || quantityText(sample.thousandths).empty())
                std::abort();
        }
    }
    (void)metricTypes(text, "a");
    (void)errorText(text);
    if (const auto token = parseMetadataToken(text); token && token->text.empty())
        std::abort();
    const auto object = nlohmann::json::parse(text, nullptr, false);
    if (const auto proxy = frontProxyOf(object); proxy && proxy->caPem.empty())
        std::abort();
    return 0;
}
