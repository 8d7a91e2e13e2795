// A request's target to the metrics adapter, and to a pod's metadata server: whatever is asked, nothing but
// an answer comes of it, and no value ends the string of PromQL that it is put into.

#include "cluster/httpd/request_target.h"
#include "cluster/local/metadataserver/metadata_tree.h"
#include "cluster/local/metadataserver/peer_user.h"
#include "cluster/local/metricsapi/metric_route.h"

#include <cstdlib>

using namespace cluster;
using namespace cluster::local;

namespace {

/// Quotes come in pairs: none that a value brought counts.
void checkStrings(std::string_view promql)
{
    bool isOpen = false;
    for (std::size_t i = 0; i < promql.size(); ++i) {
        if (isOpen && promql[i] == '\\')
            ++i;
        else if (promql[i] == '"')
            isOpen = !isOpen;
        else if (promql[i] == '\n')
            std::abort();
    }
    if (isOpen)
        std::abort();
}

MetricsProvider provider()
{
    MetricSources sources;
    sources.names = [](const auto &, const auto &, const auto &) -> ApiResult<std::vector<std::string>> {
        return std::vector<std::string>{"a\"b\\", "c"};
    };
    sources.find = [](const auto &, const auto &, const auto &) -> ApiResult<void> { return {}; };
    sources.query = [](const auto &, const std::string &promql) -> Result<std::vector<MetricSample>> {
        checkStrings(promql);
        return std::vector<MetricSample>{{{{"pod", "c"}}, 1}};
    };
    sources.types = [](const auto &, const auto &) -> Result<std::vector<std::string>> {
        return std::vector<std::string>();
    };
    sources.now = [] { return std::chrono::system_clock::time_point(); };
    sources.log = [](const std::string &) {};
    return {{"p", "l", "c"}, std::move(sources)};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const MetricsProvider metrics = provider();
    static const MetadataFacts facts{"p", "1", "z", "h", "2", "c", "l", "u", "e@p", {"s"}};
    ServerRequest request;
    request.method = "GET";
    request.target.assign(reinterpret_cast<const char *>(data), size);
    (void)userOfSocket(request.target, ConnectionEnds{1, 2, 3, 4});
    if (!readTarget(request.target, request))
        return 0;
    request.headers = {{"Metadata-Flavor", "Google"}};
    if (metadataRequest(request) && metadataPage(request, facts).status == 0)
        std::abort();
    if (const auto route = metricRoute(request)) {
        if (route->custom)
            (void)metrics.custom(*route->custom);
        else
            (void)metrics.external(*route->external);
    }
    return 0;
}
