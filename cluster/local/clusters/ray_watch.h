#pragma once

#include <functional>
#include <memory>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// Waits for the first RayCluster, RayJob or RayService: Ray's operator costs some 45 MB, and nobody misses
/// it before.
class RayWatch
{
public:
    /// `onSeen` is called from threads of the watch, at least once when there is or comes an object; it must
    /// be quick. `client` outlives this.
    RayWatch(KubeClient &client, std::function<void()> onSeen);
    ~RayWatch();
    RayWatch(const RayWatch &) = delete;
    RayWatch &operator=(const RayWatch &) = delete;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
