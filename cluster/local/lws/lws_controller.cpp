#include "cluster/local/lws/lws_controller.h"

#include "cluster/kube/informer.h"
#include "cluster/local/lws/group_reconciler.h"
#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_reconciler.h"
#include "cluster/local/lws/restart_rules.h"
#include "cluster/local/nodes/json_access.h"

#include <nlohmann/json.hpp>
#include <thread>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

KeyQueue::Key keyOf(const Json &object)
{
    return {text(at(object, "metadata"), "namespace"), text(at(object, "metadata"), "name")};
}

/// Only who it is and whom it belongs to: passes read the rest themselves. Of pods also whether they are
/// lost.
void keepMetadata(Json &object)
{
    if (text(object, "kind") == "Pod" && isLost(object))
        object["metadata"]["deletionTimestamp"] = "now or soon"; // a restart ends its group like a deletion
    object.erase("spec");
    object.erase("status");
}

} // namespace

struct LwsController::Private
{
    Private(KubeClient &kube, LwsEvents &eventSink, LwsCounters &counted, Log logger)
        : client(kube), counters(counted), log(std::move(logger)),
          setPasses(LwsAccess(kube, cancel.get_token()), eventSink),
          groupPasses(LwsAccess(kube, cancel.get_token()), eventSink)
    {
    }

    void watch(ResourcePath collection, const std::string &selector,
               const std::function<void(const Json &)> &onObject);
    template<typename Reconciler>
    void work(Reconciler &reconciler, KeyQueue &queue, LwsCounters::Controller &counts, const char *what);
    void onOwned(const Json &object);
    void onPod(const Json &object);

    KubeClient &client;
    LwsCounters &counters;
    const Log log;
    CancelSource cancel;
    KeyQueue sets, pods;
    LwsReconciler setPasses;
    GroupReconciler groupPasses;
    // Last, so that their threads end first.
    std::jthread setWorker, podWorker;
    std::vector<std::unique_ptr<Informer>> informers;
};

void LwsController::Private::watch(ResourcePath collection, const std::string &selector,
                                   const std::function<void(const Json &)> &onObject)
{
    Informer::Handlers handlers;
    handlers.onEvent = [onObject](const InformerEvent &event) { onObject(*event.object); };
    handlers.onError = [this, what = collection.display()](const Error &error) {
        log("watching " + what + ": " + error.message);
    };
    InformerOptions options;
    options.labelSelector = selector;
    options.prune = keepMetadata;
    informers.push_back(
        std::make_unique<Informer>(client, std::move(collection), std::move(handlers), std::move(options)));
}

/// A StatefulSet or a Service: its set, and the leader pod that owns a StatefulSet of workers.
void LwsController::Private::onOwned(const Json &object)
{
    const auto [nameSpace, name] = keyOf(object);
    const Json &owner = controllerOf(object);
    if (text(object, "kind") == "StatefulSet")
        sets.add({nameSpace, labelOf(object, lws_keys::name)});
    else if (text(owner, "kind") == lws_keys::kind)
        sets.add({nameSpace, text(owner, "name")});
    if (text(object, "kind") == "StatefulSet" && text(owner, "kind") == "Pod")
        pods.add({nameSpace, text(owner, "name")});
}

/// There are many workers, of which only a lost one matters.
void LwsController::Private::onPod(const Json &object)
{
    const bool isLeader = labelOf(object, lws_keys::workerIndex) == "0";
    if (!isLeader && !isLost(object))
        return;
    if (!isLeader)
        groupPasses.remember(object);
    pods.add(keyOf(object));
}

template<typename Reconciler>
void LwsController::Private::work(Reconciler &reconciler, KeyQueue &queue, LwsCounters::Controller &counts,
                                  const char *what)
{
    while (const auto key = queue.take(cancel.get_token())) {
        const Result<LookAgain> done = reconciler.reconcile(*key);
        counts.queued = queue.size();
        if (cancel.stop_requested())
            return;
        if (!done) {
            ++counts.failed;
            log(std::string(what) + " " + key->first + "/" + key->second + ": " + done.error().message);
            queue.retry(*key);
            continue;
        }
        ++(*done ? counts.requeued : counts.succeeded);
        queue.forget(*key);
        if (*done)
            queue.addAfter(*key, **done);
    }
}

LwsController::LwsController(KubeClient &client, LwsEvents &events, LwsCounters &counters, Log log)
    : m_p(std::make_unique<Private>(client, events, counters, std::move(log)))
{
    Private &p = *m_p;
    p.watch(lwsPath(), {}, [&p](const Json &object) { p.sets.add(keyOf(object)); });
    p.watch(statefulSetPath(), lws_keys::name, [&p](const Json &object) { p.onOwned(object); });
    p.watch(coreV1("services"), lws_keys::name, [&p](const Json &object) { p.onOwned(object); });
    p.watch(coreV1("pods"), lws_keys::name, [&p](const Json &object) { p.onPod(object); });
    p.setWorker = std::jthread([&p] { p.work(p.setPasses, p.sets, p.counters.sets, "leaderworkerset"); });
    p.podWorker = std::jthread([&p] { p.work(p.groupPasses, p.pods, p.counters.pods, "pod"); });
}

LwsController::~LwsController()
{
    m_p->cancel.request_stop();
    m_p->informers.clear();
}

} // namespace cluster::local
