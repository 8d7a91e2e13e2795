#include "cluster/local/nodeagent/event_sink.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodeagent/work_pool.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr double burst = 25;
constexpr double refillSeconds = 300; ///< for one more

struct Known
{
    std::string name;
    int count = 0;
    int sent = 0; ///< count that the server knows
    bool isUnderWay = false;
    json event; ///< as last made
};

struct OfPod
{
    std::map<std::string, Known> events; ///< by reason, container and message
    double tokens = burst;
    Time refilled;
};

} // namespace

class EventSink::Private : public std::enable_shared_from_this<Private>
{
public:
    Private(WorkPool &workers, KubeClient &kube) : pool(workers), client(kube) {}

    static json make(const PodEvent &event, const std::string &name, Time now)
    {
        json object{{"apiVersion", "v1"},
                    {"kind", "Event"},
                    {"metadata", {{"name", name}, {"namespace", event.pod.nameSpace}}},
                    {"involvedObject",
                     {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"namespace", event.pod.nameSpace},
                      {"name", event.pod.name},
                      {"uid", event.pod.uid}}},
                    {"type", event.type == EventType::Warning ? "Warning" : "Normal"},
                    {"reason", event.reason},
                    {"message", event.message.substr(0, 1024)},
                    {"source", {{"component", "kubelet"}, {"host", event.node}}},
                    {"reportingComponent", "kubelet"},
                    {"reportingInstance", event.node},
                    {"firstTimestamp", secondsText(now)}};
        if (!event.container.empty())
            object["involvedObject"]["fieldPath"]
                = std::string("spec.") + event.list + "{" + event.container + "}";
        return object;
    }

    void send(const std::string &uid, const std::string &key)
    {
        Known &known = pods[uid].events[key];
        if (known.isUnderWay || known.sent == known.count)
            return;
        known.isUnderWay = true;
        const bool isNew = known.sent == 0;
        const int count = known.count;
        const auto event = std::make_shared<json>(known.event);
        (*event)["count"] = count;
        pool.run([this, weak = weak_from_this(), event, isNew, uid, key, count]() -> std::function<void()> {
            const bool isSent = write(*event, isNew);
            return [weak, uid, key, count, isSent] {
                if (const auto self = weak.lock())
                    self->sent(uid, key, isSent ? count : 0);
            };
        });
    }

    bool write(const json &event, bool isNew)
    {
        KubeWriteOptions options;
        options.cancel = pool.token();
        options.retries = 1;
        const std::string space = event["metadata"]["namespace"], name = event["metadata"]["name"];
        if (!isNew) {
            const json patch{{"count", event["count"]}, {"lastTimestamp", event["lastTimestamp"]}};
            if (client.patch(coreV1("events", space, name), PatchType::Merge, patch, options))
                return true;
        }
        return client.create(coreV1("events", space), event, options).has_value();
    }

    void sent(const std::string &uid, const std::string &key, int count)
    {
        const auto pod = pods.find(uid);
        const auto known
            = pod == pods.end() ? std::map<std::string, Known>::iterator() : pod->second.events.find(key);
        if (pod == pods.end() || known == pod->second.events.end())
            return;
        known->second.isUnderWay = false;
        if (count == 0)
            return; // it goes with the next one of its kind
        known->second.sent = count;
        send(uid, key);
    }

    WorkPool &pool;
    KubeClient &client;
    std::map<std::string, OfPod> pods; ///< by uid
};

EventSink::EventSink(WorkPool &pool, KubeClient &client) : m_p(std::make_shared<Private>(pool, client)) {}

EventSink::~EventSink() = default;

void EventSink::record(const PodEvent &event, Time now)
{
    OfPod &pod = m_p->pods[event.pod.uid];
    const double passed = std::chrono::duration<double>(now - pod.refilled).count();
    pod.tokens = std::min(burst, pod.tokens + passed / refillSeconds);
    pod.refilled = now;
    if (pod.tokens < 1)
        return;
    pod.tokens -= 1;
    const std::string key = event.reason + '\n' + event.container + '\n' + event.message;
    Known &known = pod.events[key];
    if (known.name.empty()) {
        char suffix[24];
        const auto stamp = now.time_since_epoch().count() + static_cast<long>(pod.events.size());
        std::snprintf(suffix, sizeof suffix, ".%lx", static_cast<unsigned long>(stamp));
        known.name = event.pod.name + suffix;
        known.event = Private::make(event, known.name, now);
    }
    ++known.count;
    known.event["lastTimestamp"] = secondsText(now);
    m_p->send(event.pod.uid, key);
}

void EventSink::forget(const std::string &uid)
{
    m_p->pods.erase(uid);
}

} // namespace cluster::local
