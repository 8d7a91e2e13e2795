#include "cluster/observe/metric_poller.h"

#include "cluster/observe/prometheus_text.h"
#include <array>
#include <string_view>

namespace cluster {

namespace {

/// "http://host:port" of an absolute URL.
std::string_view originOf(std::string_view url)
{
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos)
        return {};
    return url.substr(0, url.find_first_of("/?#", scheme + 3));
}

std::string resolved(std::string_view base, std::string_view location)
{
    const std::string_view origin = originOf(base);
    if (location.starts_with("//"))
        return std::string(base.substr(0, base.find(':') + 1)) + std::string(location);
    if (location.find("://") != std::string_view::npos)
        return std::string(location);
    if (location.starts_with('/'))
        return std::string(origin) + std::string(location);
    const std::string_view path = base.substr(0, base.find_first_of("?#"));
    return std::string(path.substr(0, path.find_last_of('/') + 1)) + std::string(location);
}

bool isRedirect(int status)
{
    constexpr std::array redirects = {301, 302, 303, 307, 308};
    for (const int one : redirects) {
        if (one == status)
            return true;
    }
    return false;
}

tl::unexpected<Error> statusError(const std::string &url, int status)
{
    const std::string start = "GET " + url + ": HTTP " + std::to_string(status);
    if (status == 401)
        return fail(ErrorCode::Unauthenticated, start + "; the server wants a key");
    if (status == 403)
        return fail(ErrorCode::PermissionDenied, start + "; the key may not read metrics");
    if (status == 404)
        return fail(ErrorCode::NotFound, start + "; the server has no metrics page there");
    if (status == 501)
        return fail(ErrorCode::Unimplemented,
                    start + "; metrics are switched off (llama.cpp: start it with --metrics)");
    if (status >= 500)
        return fail(ErrorCode::Unavailable, start + "; the server is not ready or in trouble");
    return fail(ErrorCode::Unknown, start + "; not an answer of a metrics page");
}

} // namespace

MetricPoller::MetricPoller(MetricPollerOptions options, FetchPage fetch)
    : m_options(std::move(options)), m_fetch(std::move(fetch)), m_series(m_options.series),
      m_halfAlive(m_options.halfAlive)
{
}

Result<std::string> MetricPoller::fetchPage() const
{
    const auto deadline = std::chrono::steady_clock::now() + m_options.timeout;
    std::string url = m_options.url;
    for (int i = 0; i <= m_options.maxRedirects; ++i) {
        auto page = m_fetch(url, deadline);
        if (!page)
            return tl::unexpected(page.error());
        if (page->status == 200)
            return std::move(page->body);
        if (!isRedirect(page->status) || page->location.empty())
            return statusError(url, page->status);
        std::string next = resolved(url, page->location);
        // The transport may add a key that is meant for this server only.
        if (originOf(next) != originOf(url))
            return fail(ErrorCode::FailedPrecondition,
                        "GET " + url + ": sent on to another server, " + next
                            + "; give that address if it is meant");
        url = std::move(next);
    }
    return fail(ErrorCode::FailedPrecondition,
                "GET " + m_options.url + ": more than " + std::to_string(m_options.maxRedirects)
                    + " redirects, last to " + url);
}

Result<Scrape> MetricPoller::poll(SampleTime now)
{
    const auto text = fetchPage();
    MetricPage page;
    if (text)
        page = parsePrometheusText(*text);
    if (!text || (page.points.empty() && page.families.empty())) {
        m_series.scrapeFailed(now);
        m_halfAlive.scrapeFailed();
        if (!text)
            return tl::unexpected(text.error());
        const std::string first = page.problems.empty()
            ? "it is empty"
            : "line " + std::to_string(page.problems.front().line) + ": " + page.problems.front().message;
        return fail(ErrorCode::InvalidArgument,
                    "GET " + m_options.url + ": not a page of Prometheus metrics (" + first
                        + "); check the address");
    }
    Scrape scrape;
    scrape.time = now;
    scrape.sample = readServingMetrics(page, now);
    scrape.values = m_series.add(scrape.sample);
    scrape.problems = std::move(page.problems);
    scrape.liveness = m_halfAlive.observe(scrape.sample);
    return scrape;
}

} // namespace cluster
