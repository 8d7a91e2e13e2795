// Answers that come piece by piece: watches and logs.

#include "cluster/kube/kube_call.h"

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longestEvent = std::size_t{32} << 20; // an object is at most some 3 MB in etcd
constexpr std::size_t longestErrorBody = std::size_t{64} << 10;

std::optional<WatchEventType> eventType(const Json &event)
{
    const auto type = event.find("type");
    if (type == event.end() || !type->is_string())
        return std::nullopt;
    const auto &name = type->get_ref<const std::string &>();
    if (name == "ADDED")
        return WatchEventType::Added;
    if (name == "MODIFIED")
        return WatchEventType::Modified;
    if (name == "DELETED")
        return WatchEventType::Deleted;
    if (name == "BOOKMARK")
        return WatchEventType::Bookmark;
    return std::nullopt;
}

/// Cuts the stream of a watch into events.
class WatchReader
{
public:
    WatchReader(const WatchHandler &onEvent, std::string version, std::string doing)
        : m_onEvent(onEvent), m_version(std::move(version)), m_doing(std::move(doing))
    {
    }

    [[nodiscard]] const std::string &version() const { return m_version; }

    Result<Reading> read(std::string_view bytes)
    {
        while (true) {
            const std::size_t end = bytes.find('\n');
            if (m_line.size() + std::min(end, bytes.size()) > longestEvent)
                return fail(ErrorCode::ResourceExhausted,
                            m_doing + " failed: one event is larger than "
                                + std::to_string(longestEvent >> 20U) + " MiB");
            m_line += bytes.substr(0, end);
            if (end == std::string_view::npos)
                return Reading::Continue;
            bytes.remove_prefix(end + 1);
            const Result<Reading> reading = takeLine();
            m_line.clear();
            if (!reading || *reading == Reading::Stop)
                return reading;
        }
    }

private:
    Result<Reading> takeLine()
    {
        if (m_line.empty())
            return Reading::Continue;
        Json event = Json::parse(m_line, nullptr, false);
        const auto object = event.is_object() ? event.find("object") : event.end();
        if (!event.is_object() || object == event.end() || !object->is_object())
            return fail(ErrorCode::DataLoss, m_doing + " failed: the server sent a line that is no event");
        if (event["type"] == "ERROR")
            return tl::unexpected(toError(parseKubeStatus(500, object->dump()), m_doing));
        const auto type = eventType(event);
        if (!type)
            return Reading::Continue; // of a newer server
        const auto metadata = object->find("metadata");
        if (metadata != object->end() && metadata->is_object()) {
            const auto version = metadata->find("resourceVersion");
            if (version != metadata->end() && version->is_string())
                m_version = version->get<std::string>();
        }
        return m_onEvent(*type, *object);
    }

    const WatchHandler &m_onEvent;
    std::string m_version;
    std::string m_doing;
    std::string m_line;
};

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
