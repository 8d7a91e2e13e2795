#pragma once

#include "cluster/kube/kube_client.h"

#include <string>

namespace cluster::local {

/// What an event says, and of which object.
struct EventText
{
    std::string kind; ///< "Node", "Pod"
    std::string apiVersion = "v1";
    std::string space; ///< namespace of the object; empty: cluster-scoped (the event lies in "default")
    std::string name;
    std::string uid;
    bool isWarning = false;
    std::string reason; ///< "TriggeredScaleUp"
    std::string message;
    std::string component; ///< who says it: "cluster-autoscaler"
};

/// Writes events; an equal one that was written lately only counts up. Losing one is no error. Threads may
/// share it.
class EventWriter
{
public:
    explicit EventWriter(KubeClient &client) : m_client(client) {}

    void write(const EventText &event, const CancelToken &cancel = {});

private:
    KubeClient &m_client;
};

} // namespace cluster::local
