#pragma once

#include "cluster/local/nodeagent/pod_writer.h"
#include "cluster/local/nodeagent/time_text.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

enum class EventType { Normal, Warning };

struct PodEvent
{
    PodKey pod;
    std::string node;
    std::string container; ///< empty: about the pod as a whole
    const char *list = "containers"; ///< of the pod's spec, that it is in
    EventType type = EventType::Normal;
    std::string reason, message;
};

/// Events as kubelet's recorder makes them: the same one again raises the count of the first; a pod that
/// makes too many is heard 25 times and then once in five minutes. They are lost, not kept, when the API
/// server is away. Threads: the io_context's.
class EventSink
{
public:
    EventSink(WorkPool &pool, KubeClient &client);
    ~EventSink();
    EventSink(const EventSink &) = delete;
    EventSink &operator=(const EventSink &) = delete;

    void record(const PodEvent &event, Time now);
    void forget(const std::string &uid);

private:
    class Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
