// Answers that come piece by piece: watches and logs.

#include "cluster/kube/kube_call.h"
#include "cluster/kube/watch_reader.h"

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longestErrorBody = std::size_t{64} << 10;

/// The body of a refusal, and whether the answer is one.
struct Refusal
{
    int httpStatus = 0;
    std::string body;

    Result<Reading> take(std::string_view bytes)
    {
        body += bytes.substr(0, longestErrorBody - std::min(longestErrorBody, body.size()));
        return Reading::Continue;
    }
};

} // namespace

Result<std::string> KubeClient::watch(const ResourcePath &path, const KubeWatchOptions &options,
                                      const WatchHandler &onEvent)
{
    QueryString query;
    query.add("watch", "true");
    query.add("allowWatchBookmarks", options.bookmarks ? "true" : "");
    query.add("labelSelector", options.labelSelector);
    query.add("fieldSelector", options.fieldSelector);
    query.add("resourceVersion", options.resourceVersion);
    if (options.timeout.count() > 0)
        query.add("timeoutSeconds", options.timeout.count());
    Call call;
    call.target = path.collection().text() + query.text();
    const std::string doing = "watching " + path.display() + " at " + hostOfUrl(m_endpoint.url);

    KubeCallOptions callOptions;
    callOptions.cancel = options.cancel;
    HttpOptions http = httpOptions(callOptions);
    // The server ends it in time; one that does not even do that is gone.
    if (options.timeout.count() > 0)
        http.idleTimeout = options.timeout + std::chrono::seconds(30);
    WatchReader reader(onEvent, options.resourceVersion, doing);
    Refusal refusal;
    const Result<HttpResponse> answer = m_http.stream(
        request(call),
        [&](const HttpResponse &head) -> Result<Reading> {
            refusal.httpStatus = head.status;
            return Reading::Continue;
        },
        [&](std::string_view bytes) {
            return refusal.httpStatus >= 400 ? refusal.take(bytes) : reader.read(bytes);
        },
        http);
    if (!answer)
        return tl::unexpected(answer.error());
    if (answer->status >= 400)
        return tl::unexpected(toError(parseKubeStatus(answer->status, refusal.body), doing));
    return reader.version();
}

Status KubeClient::logs(const std::string &nameSpace, const std::string &pod, const KubeLogOptions &options,
                        const DataHandler &onData)
{
    const ResourcePath path = coreV1("pods", nameSpace, pod).sub("log");
    QueryString query;
    query.add("container", options.container);
    query.add("follow", options.follow ? "true" : "");
    query.add("previous", options.previous ? "true" : "");
    query.add("timestamps", options.timestamps ? "true" : "");
    if (options.tailLines >= 0)
        query.add("tailLines", options.tailLines);
    if (options.sinceSeconds >= 0)
        query.add("sinceSeconds", options.sinceSeconds);
    Call call;
    call.target = path.text() + query.text();
    KubeCallOptions callOptions;
    callOptions.cancel = options.cancel;
    Refusal refusal;
    const Result<HttpResponse> answer = m_http.stream(
        request(call),
        [&](const HttpResponse &head) -> Result<Reading> {
            refusal.httpStatus = head.status;
            return Reading::Continue;
        },
        [&](std::string_view bytes) {
            return refusal.httpStatus >= 400 ? refusal.take(bytes) : onData(bytes);
        },
        httpOptions(callOptions));
    const std::string doing = "reading the " + path.display();
    if (!answer)
        return fail(answer.error().code, doing + " failed: " + answer.error().message);
    if (answer->status >= 400)
        return tl::unexpected(toError(parseKubeStatus(answer->status, refusal.body),
                                      doing + " at " + hostOfUrl(m_endpoint.url)));
    return {};
}

} // namespace cluster
