#pragma once

#include "cluster/base/result.h"
#include "cluster/observe/half_alive.h"
#include "cluster/observe/serving_metrics.h"
#include "cluster/observe/time_series.h"
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace cluster {

struct FetchedPage
{
    int status = 0; ///< HTTP status.
    std::string location; ///< Header Location, if any.
    std::string body;
};

/// GET of an absolute URL that blocks until done or the deadline; does not follow redirects. Errors are those
/// of the transport (Unavailable, DeadlineExceeded); an HTTP status is not an error here.
using FetchPage
    = std::function<Result<FetchedPage>(const std::string &url, std::chrono::steady_clock::time_point)>;

struct MetricPollerOptions
{
    std::string url; ///< "http://127.0.0.1:8000/metrics"
    std::chrono::milliseconds timeout{5000}; ///< Of one poll, redirects included.
    int maxRedirects = 3;
    ServingSeriesOptions series;
    HalfAliveOptions halfAlive;
};

/// What one poll gave.
struct Scrape
{
    SampleTime time{};
    ServingSample sample;
    ChartValues values; ///< What was added to the charts.
    std::vector<PageProblem> problems; ///< Lines of the page that were skipped.
    Liveness liveness = Liveness::Unknown;
};

/// Fetches one /metrics page after another and grows its charts. Blocks; the caller's job decides when to
/// poll. Threads: one at a time.
class MetricPoller
{
public:
    MetricPoller(MetricPollerOptions options, FetchPage fetch);

    /// \param now  Wall clock; stamps the scrape.
    /// Errors: the transport's; Unavailable for a 5xx, Unauthenticated/PermissionDenied/NotFound for
    /// 401/403/404,
    ///         FailedPrecondition for a redirect loop, InvalidArgument for a page with no metric in it. Each
    ///         leaves a gap in the charts.
    Result<Scrape> poll(SampleTime now);

    [[nodiscard]] const ServingSeries &series() const { return m_series; }
    [[nodiscard]] const HalfAliveRule &halfAlive() const { return m_halfAlive; }

private:
    Result<std::string> fetchPage() const;

    MetricPollerOptions m_options;
    FetchPage m_fetch;
    ServingSeries m_series;
    HalfAliveRule m_halfAlive;
};

} // namespace cluster
