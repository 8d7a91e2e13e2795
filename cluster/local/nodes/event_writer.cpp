#include "cluster/local/nodes/event_writer.h"

#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_object.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

void EventWriter::write(const EventText &event, const CancelToken &cancel)
{
    using Json = nlohmann::json;
    KubeWriteOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(10));
    options.retries = 1;
    // The same words about the same object have the same name, so that a second one is found and counted.
    const std::string name = event.name + '.'
        + stableHex(event.uid + '/' + event.reason + '/' + event.message + '/' + event.component, 16);
    const std::string nameSpace = event.space.empty() ? "default" : event.space;
    const std::string now = timestamp(unixTimeNow());
    const Json object{{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"name", name}, {"namespace", nameSpace}}},
                      {"involvedObject",
                       {{"apiVersion", event.apiVersion},
                        {"kind", event.kind},
                        {"namespace", event.space},
                        {"name", event.name},
                        {"uid", event.uid}}},
                      {"type", event.isWarning ? "Warning" : "Normal"},
                      {"reason", event.reason},
                      {"message", event.message},
                      {"source", {{"component", event.component}}},
                      {"reportingComponent", event.component},
                      {"firstTimestamp", now},
                      {"lastTimestamp", now},
                      {"count", 1}};
    const ResourcePath path = coreV1("events", nameSpace, name);
    const Result<Json> created = m_client.create(path, object, options);
    if (created || created.error().code != ErrorCode::AlreadyExists)
        return;
    const Result<Json> known = m_client.get(path, options);
    if (!known)
        return;
    const Json patch{{"count", known->value("count", 1) + 1}, {"lastTimestamp", now}};
    (void)m_client.patch(path, PatchType::Merge, patch, options);
}

} // namespace cluster::local
