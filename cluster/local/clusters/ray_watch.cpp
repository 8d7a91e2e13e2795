#include "cluster/local/clusters/ray_watch.h"

#include "cluster/kube/informer.h"

#include <atomic>
#include <list>
#include <nlohmann/json.hpp>

namespace cluster::local {

struct RayWatch::Private
{
    std::function<void()> onSeen;
    std::atomic<bool> isTold = false;
    std::list<Informer> kinds; ///< last: their threads end before what they use
};

RayWatch::RayWatch(KubeClient &client, std::function<void()> onSeen) : d(std::make_unique<Private>())
{
    d->onSeen = std::move(onSeen);
    for (const char *kind : {"rayclusters", "rayjobs", "rayservices"}) {
        Informer::Handlers handlers;
        handlers.onEvent = [p = d.get()](const InformerEvent &) {
            if (!p->isTold.exchange(true))
                p->onSeen();
        };
        InformerOptions options;
        options.prune = [](nlohmann::json &object) { // only that it is there counts
            object.erase("spec");
            object.erase("status");
        };
        d->kinds.emplace_back(client, apiGroup("ray.io", "v1", kind), std::move(handlers),
                              std::move(options));
    }
}

RayWatch::~RayWatch() = default;

} // namespace cluster::local
