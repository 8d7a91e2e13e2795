#include "cluster/kube/informer.h"

#include "cluster/kube/pause.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

namespace cluster {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

std::string metadataText(const Json &object, const char *key)
{
    const auto metadata = object.find("metadata");
    if (metadata == object.end() || !metadata->is_object())
        return {};
    const auto value = metadata->find(key);
    return value != metadata->end() && value->is_string() ? value->get<std::string>() : std::string();
}

std::string keyOf(std::string_view nameSpace, std::string_view name)
{
    std::string key(nameSpace);
    key += '/';
    key += name;
    return key;
}

std::string keyOf(const Json &object)
{
    return keyOf(metadataText(object, "namespace"), metadataText(object, "name"));
}

} // namespace

class Informer::Private
{
public:
    Private(KubeClient &client, ResourcePath collection, Handlers handlers, InformerOptions options)
        : m_client(client), m_collection(collection.collection()), m_handlers(std::move(handlers)),
          m_options(std::move(options)), m_thread([this] { run(); })
    {
    }

    void stop()
    {
        m_cancel.request_stop();
        {
            const std::lock_guard lock(m_mutex); // a waiter is either before its look or asleep
            m_syncChanged.notify_all();
        }
        if (m_thread.joinable())
            m_thread.join();
    }

    bool synced() const
    {
        const std::lock_guard lock(m_mutex);
        return m_isSynced;
    }

    bool waitForSync(Deadline deadline, const CancelToken &cancel)
    {
        const CancelCallback wakeUp(cancel, [this] {
            const std::lock_guard lock(m_mutex);
            m_syncChanged.notify_all();
        });
        const auto isOver = [&] { return m_isSynced || cancel.stop_requested() || isStopping(); };
        std::unique_lock lock(m_mutex);
        if (deadline.isNever())
            m_syncChanged.wait(lock, isOver);
        else
            m_syncChanged.wait_for(lock, deadline.remaining(), isOver);
        return m_isSynced;
    }

    KubeObject find(std::string_view nameSpace, std::string_view name) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_objects.find(keyOf(nameSpace, name));
        return found == m_objects.end() ? nullptr : found->second;
    }

    std::vector<KubeObject> objects() const
    {
        const std::lock_guard lock(m_mutex);
        std::vector<KubeObject> objects;
        objects.reserve(m_objects.size());
        for (const auto &entry : m_objects)
            objects.push_back(entry.second);
        return objects;
    }

    std::size_t size() const
    {
        const std::lock_guard lock(m_mutex);
        return m_objects.size();
    }

private:
    bool isStopping() const { return m_cancel.stop_requested(); }

    // All below on the informer's thread.

    void run()
    {
        int failureCount = 0;
        bool wantsList = true;
        while (!isStopping()) {
            const auto start = Clock::now();
            const Status status = wantsList ? listAll() : watchOnce();
            if (isStopping())
                return;
            if (status) {
                // A server that ends each watch at once is not asked in a tight loop.
                const bool isHasty = !wantsList && Clock::now() - start < m_options.shortestBackoff;
                wantsList = false;
                failureCount = isHasty ? failureCount + 1 : 0;
            } else {
                ++failureCount;
                if (m_handlers.onError)
                    m_handlers.onError(status.error());
                // A lost connection is resumed where it was. Whatever else the server refuses (410 above
                // all; also a version from before its data were lost) calls for a new list.
                const ErrorCode code = status.error().code;
                wantsList = wantsList || (code != ErrorCode::Unavailable && code != ErrorCode::DataLoss);
            }
            if (failureCount > 0 && !pauseFor(backoff(failureCount), m_cancel.get_token()))
                return;
        }
    }

    std::chrono::milliseconds backoff(int failureCount) const
    {
        const auto wait = m_options.shortestBackoff * (1 << std::min(failureCount - 1, 10));
        return jittered(std::min(m_options.longestBackoff, wait));
    }

    Status listAll()
    {
        KubeListOptions list;
        list.labelSelector = m_options.labelSelector;
        list.fieldSelector = m_options.fieldSelector;
        KubeCallOptions call;
        call.cancel = m_cancel.get_token();
        call.retries = 0; // the informer's own back-off
        Result<KubeList> listed = m_client.list(m_collection, list, call);
        if (!listed)
            return tl::unexpected(listed.error());
        takeList(std::move(listed->items));
        m_version = listed->resourceVersion;
        bool isFirst = false;
        {
            const std::lock_guard lock(m_mutex);
            isFirst = !std::exchange(m_isSynced, true);
        }
        m_syncChanged.notify_all();
        if (isFirst && m_handlers.onSynced)
            m_handlers.onSynced();
        return {};
    }

    void takeList(std::vector<Json> items)
    {
        std::set<std::string> present;
        for (Json &item : items) {
            if (isStopping())
                return;
            present.insert(keyOf(item));
            takeObject(std::move(item));
        }
        std::vector<std::string> gone;
        {
            const std::lock_guard lock(m_mutex);
            for (const auto &entry : m_objects) {
                if (!present.contains(entry.first))
                    gone.push_back(entry.first);
            }
        }
        for (const std::string &key : gone)
            dropObject(key, nullptr);
    }

    Status watchOnce()
    {
        // Different informers' watches end at different moments, as client-go's do.
        thread_local std::minstd_rand random{std::random_device{}()};
        KubeWatchOptions watch;
        watch.labelSelector = m_options.labelSelector;
        watch.fieldSelector = m_options.fieldSelector;
        watch.resourceVersion = m_version;
        watch.timeout = std::chrono::seconds(std::uniform_int_distribution<int>(300, 600)(random));
        watch.cancel = m_cancel.get_token();
        const Result<std::string> ended
            = m_client.watch(m_collection, watch,
                             [this](WatchEventType type, Json &object) { return takeEvent(type, object); });
        if (!ended)
            return tl::unexpected(ended.error());
        return {};
    }

    Result<Reading> takeEvent(WatchEventType type, Json &object)
    {
        std::string version = metadataText(object, "resourceVersion");
        if (type == WatchEventType::Deleted) {
            const std::string key = keyOf(object); // before the object moves
            trim(object);
            dropObject(key, std::make_shared<const Json>(std::move(object)));
        } else if (type != WatchEventType::Bookmark) {
            takeObject(std::move(object));
        }
        if (!version.empty())
            m_version = std::move(version);
        return isStopping() ? Reading::Stop : Reading::Continue;
    }

    void trim(Json &object) const
    {
        if (const auto metadata = object.find("metadata"); metadata != object.end() && metadata->is_object())
            metadata->erase("managedFields");
        if (m_options.prune)
            m_options.prune(object);
    }

    void takeObject(Json object)
    {
        trim(object);
        const std::string key = keyOf(object);
        const std::string uid = metadataText(object, "uid");
        KubeObject known = findByKey(key);
        if (known && metadataText(*known, "uid") != uid) {
            // Deleted and made again while nobody watched.
            dropObject(key, nullptr);
            known = nullptr;
        }
        if (known && metadataText(*known, "resourceVersion") == metadataText(object, "resourceVersion"))
            return;
        auto now = std::make_shared<const Json>(std::move(object));
        {
            const std::lock_guard lock(m_mutex);
            m_objects[key] = now;
        }
        tell({known ? InformerEventType::Modified : InformerEventType::Added, std::move(now),
              std::move(known)});
    }

    void dropObject(const std::string &key, KubeObject last)
    {
        KubeObject known;
        {
            const std::lock_guard lock(m_mutex);
            const auto found = m_objects.find(key);
            if (found == m_objects.end())
                return;
            known = std::move(found->second);
            m_objects.erase(found);
        }
        tell({InformerEventType::Deleted, last ? std::move(last) : std::move(known), nullptr});
    }

    KubeObject findByKey(const std::string &key) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_objects.find(key);
        return found == m_objects.end() ? nullptr : found->second;
    }

    void tell(const InformerEvent &event)
    {
        if (!m_handlers.onEvent)
            return;
        try {
            m_handlers.onEvent(event);
        } catch (const std::exception &exception) {
            // One event's failure must not cost the others.
            if (m_handlers.onError)
                m_handlers.onError(
                    {ErrorCode::Internal,
                     "handling an event of " + m_collection.display() + " failed: " + exception.what()});
        }
    }

    KubeClient &m_client;
    const ResourcePath m_collection;
    const Handlers m_handlers;
    const InformerOptions m_options;
    CancelSource m_cancel;
    std::string m_version; ///< to watch from; the thread's own

    mutable std::mutex m_mutex; ///< guards m_objects and m_isSynced
    std::condition_variable m_syncChanged;
    std::map<std::string, KubeObject, std::less<>> m_objects; ///< by "namespace/name"
    bool m_isSynced = false;

    std::thread m_thread; ///< last: it uses all the others
};

Informer::Informer(KubeClient &client, ResourcePath collection, Handlers handlers, InformerOptions options)
    : d(std::make_unique<Private>(client, std::move(collection), std::move(handlers), std::move(options)))
{
}

Informer::~Informer()
{
    stop();
}

void Informer::stop()
{
    d->stop();
}

bool Informer::synced() const
{
    return d->synced();
}

bool Informer::waitForSync(Deadline deadline, const CancelToken &cancel) const
{
    return d->waitForSync(deadline, cancel);
}

KubeObject Informer::find(std::string_view nameSpace, std::string_view name) const
{
    return d->find(nameSpace, name);
}

std::vector<KubeObject> Informer::objects() const
{
    return d->objects();
}

std::size_t Informer::size() const
{
    return d->size();
}

} // namespace cluster
