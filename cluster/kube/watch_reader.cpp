#include "cluster/kube/watch_reader.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longestEvent = std::size_t{32} << 20; // an object is at most some 3 MB in etcd

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

} // namespace

Result<Reading> WatchReader::read(std::string_view bytes)
{
    while (true) {
        const std::size_t end = bytes.find('\n');
        if (m_line.size() + std::min(end, bytes.size()) > longestEvent)
            return fail(ErrorCode::ResourceExhausted,
                        m_doing + " failed: one event is larger than " + std::to_string(longestEvent >> 20U)
                            + " MiB");
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

Result<Reading> WatchReader::takeLine()
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

} // namespace cluster
