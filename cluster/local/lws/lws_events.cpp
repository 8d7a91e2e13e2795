#include "cluster/local/lws/lws_events.h"

#include "cluster/local/lws/utc_text.h"
#include "cluster/local/nodes/json_access.h"

#include <array>
#include <cstdio>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::chrono::minutes quietTime{6};
constexpr std::size_t longestNote = 1024; // the API server takes no longer one
constexpr std::size_t mostWaiting = 10000;
constexpr const char *controller = "leaderworkerset";

Json reference(const Json &object)
{
    const Json &metadata = at(object, "metadata");
    Json reference{{"apiVersion", text(object, "apiVersion")},
                   {"kind", text(object, "kind")},
                   {"name", text(metadata, "name")},
                   {"uid", text(metadata, "uid")}};
    for (const char *key : {"namespace", "resourceVersion"}) {
        if (const std::string value = text(metadata, key); !value.empty())
            reference[key] = value;
    }
    return reference;
}

std::string hexNanoseconds(EventFolding::Time now)
{
    const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(count));
    return text.data();
}

} // namespace

EventFolding::Write EventFolding::seriesWrite(Series &series)
{
    series.written = series.count;
    return {series.path,
            {{"series", {{"count", series.count}, {"lastObservedTime", utcMicros(series.last)}}}},
            true};
}

std::optional<EventFolding::Write> EventFolding::add(const LwsEvent &event, Time now)
{
    const Json regarding = reference(event.regarding);
    Json body{{"apiVersion", "events.k8s.io/v1"},
              {"kind", "Event"},
              {"reportingController", controller},
              {"reportingInstance", m_instance},
              {"type", event.isWarning ? "Warning" : "Normal"},
              {"reason", event.reason},
              {"action", event.action},
              {"regarding", regarding}};
    if (event.related.is_object())
        body["related"] = reference(event.related);
    const std::string key = body.dump();
    if (const auto known = m_series.find(key); known != m_series.end()) {
        Series &series = known->second;
        ++series.count;
        series.last = now;
        return series.count == 2 ? std::optional(seriesWrite(series)) : std::nullopt;
    }
    const std::string space = text(regarding, "namespace").empty() ? "default" : text(regarding, "namespace");
    const std::string name = text(regarding, "name") + "." + hexNanoseconds(now);
    body["metadata"] = {{"name", name}, {"namespace", space}};
    body["eventTime"] = utcMicros(now);
    body["note"] = event.note.substr(0, longestNote);
    const ResourcePath path = apiGroup("events.k8s.io", "v1", "events", space, name);
    m_series[key] = {path, 1, 1, now};
    return Write{path, std::move(body), false};
}

std::vector<EventFolding::Write> EventFolding::finish(Time now)
{
    std::vector<Write> writes;
    for (auto entry = m_series.begin(); entry != m_series.end();) {
        Series &series = entry->second;
        if (now - series.last < quietTime) {
            ++entry;
            continue;
        }
        if (series.written != series.count)
            writes.push_back(seriesWrite(series));
        entry = m_series.erase(entry);
    }
    return writes;
}

LwsEvents::LwsEvents(KubeClient &client, std::string instance)
    : m_client(client), m_folding(std::move(instance)),
      m_thread([this](const std::stop_token &cancel) { run(cancel); })
{
}

LwsEvents::~LwsEvents() = default;

void LwsEvents::record(LwsEvent event)
{
    const std::lock_guard lock(m_mutex);
    if (m_waiting.size() < mostWaiting)
        m_waiting.push_back(std::move(event));
    m_changed.notify_all();
}

void LwsEvents::run(const CancelToken &cancel)
{
    while (!cancel.stop_requested()) {
        std::optional<LwsEvent> event;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait_for(lock, cancel, quietTime / 2, [this] { return !m_waiting.empty(); });
            if (!m_waiting.empty()) {
                event = std::move(m_waiting.front());
                m_waiting.pop_front();
            }
        }
        const auto now = std::chrono::system_clock::now();
        for (const EventFolding::Write &late : m_folding.finish(now))
            write(late, cancel);
        if (!event)
            continue;
        if (const auto made = m_folding.add(*event, now))
            write(*made, cancel);
    }
}

void LwsEvents::write(const EventFolding::Write &write, const CancelToken &cancel)
{
    KubeWriteOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(10));
    options.retries = 1;
    if (write.isPatch)
        (void)m_client.patch(write.path, PatchType::Merge, write.body, options);
    else
        (void)m_client.create(write.path, write.body, options);
}

} // namespace cluster::local
