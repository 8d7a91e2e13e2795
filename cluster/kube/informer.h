#pragma once

#include "cluster/kube/kube_client.h"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

/// An object of an informer: shared, never changed.
using KubeObject = std::shared_ptr<const nlohmann::json>;

enum class InformerEventType { Added, Modified, Deleted };

struct InformerEvent
{
    InformerEventType type = InformerEventType::Added;
    KubeObject object; ///< as it is now; of Deleted: as it was last known
    KubeObject previous; ///< of Modified: as it was before; else null
};

struct InformerOptions
{
    std::string labelSelector;
    std::string fieldSelector;
    /// Called on each object before it is kept, to drop what nobody reads. The informer itself always drops
    /// metadata.managedFields.
    std::function<void(nlohmann::json &)> prune;
    std::chrono::milliseconds shortestBackoff{200};
    std::chrono::milliseconds longestBackoff{10000};
};

/// Follows one collection on a thread of its own: lists it, watches from there, resumes by resourceVersion,
/// lists again when the server has forgotten that (410) and then tells what was added, changed and deleted
/// meanwhile. Failures are retried for ever, with back-off and jitter.
///
/// Handlers are called on that thread, one after the other; each object's events in order; nothing twice
/// (an object that a relist finds unchanged is not told). A handler may call find() and objects(), not
/// stop().
class Informer
{
public:
    struct Handlers
    {
        std::function<void(const InformerEvent &)> onEvent;
        std::function<void()> onSynced; ///< once, after the first list's objects were told
        std::function<void(const Error &)> onError; ///< each failure, before its back-off; for a log
    };

    /// Starts at once. `client` must outlive the informer.
    Informer(KubeClient &client, ResourcePath collection, Handlers handlers, InformerOptions options = {});
    ~Informer(); ///< stop()
    Informer(const Informer &) = delete;
    Informer &operator=(const Informer &) = delete;

    /// Ends the thread; returns when no handler runs any more. Prompt, also from a silent watch.
    void stop();

    [[nodiscard]] bool synced() const;
    /// False at the deadline or when cancelled or stopped.
    bool waitForSync(Deadline deadline, const CancelToken &cancel = {}) const;

    /// Null if there is none. `nameSpace` is empty for cluster-scoped objects.
    [[nodiscard]] KubeObject find(std::string_view nameSpace, std::string_view name) const;
    [[nodiscard]] std::vector<KubeObject> objects() const;
    [[nodiscard]] std::size_t size() const;

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster
