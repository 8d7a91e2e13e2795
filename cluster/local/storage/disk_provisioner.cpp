#include "cluster/local/storage/disk_provisioner.h"

#include "cluster/kube/informer.h"
#include "cluster/local/nodeagent/atomic_folder.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_spec.h"
#include "cluster/local/nodeagent/time_text.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

std::string uidOf(const json &object)
{
    return textOf(fieldOf(object, "metadata"), "uid");
}

ResourcePath pathOf(const json &object, const char *plural)
{
    const json &metadata = fieldOf(object, "metadata");
    return coreV1(plural, textOf(metadata, "namespace"), textOf(metadata, "name"));
}

} // namespace

class DiskProvisioner::Private
{
public:
    Private(KubeClient &kube, DiskProvisionerOptions given)
        : client(kube), options(std::move(given)), claims(kube, coreV1("persistentvolumeclaims"), handlers()),
          volumes(kube, coreV1("persistentvolumes"), handlers()),
          worker([this](const std::stop_token &stop) { work(stop); })
    {
    }

    Informer::Handlers handlers()
    {
        Informer::Handlers handlers;
        handlers.onEvent = [this](const InformerEvent &) { wake(); };
        handlers.onSynced = [this] { wake(); };
        return handlers;
    }

    void wake()
    {
        const std::scoped_lock lock(mutex);
        isDirty = true;
        changed.notify_all();
    }

    void work(const std::stop_token &stop);
    void lookAtAll(const std::stop_token &stop);
    void provision(const json &claim);
    Status makeVolume(const json &claim, const json &storageClass);
    void grow(const json &claim);
    Status removeDisk(const json &volume);
    void tell(const json &claim, bool isGood, const std::string &reason, const std::string &text);
    [[nodiscard]] bool mayTry(const std::string &uid) const;
    void note(const std::string &uid, bool isDone);

    template<typename Options = KubeWriteOptions>
    Options calls() const
    {
        Options made;
        made.cancel = token;
        return made;
    }

    KubeClient &client;
    DiskProvisionerOptions options;
    CancelToken token;
    std::mutex mutex;
    std::condition_variable_any changed;
    bool isDirty = false;
    struct Pause
    {
        std::chrono::seconds length{0};
        Clock::time_point until;
    };
    std::map<std::string, Pause> pauses; ///< by uid of a claim or volume that failed
    Informer claims, volumes;
    std::jthread worker; // first to end
};

bool DiskProvisioner::Private::mayTry(const std::string &uid) const
{
    const auto pause = pauses.find(uid);
    return pause == pauses.end() || pause->second.until <= Clock::now();
}

void DiskProvisioner::Private::note(const std::string &uid, bool isDone)
{
    if (isDone) {
        pauses.erase(uid);
        return;
    }
    Pause &pause = pauses[uid];
    pause.length = std::clamp(pause.length * 2, std::chrono::seconds(1), std::chrono::seconds(60));
    pause.until = Clock::now() + pause.length;
}

void DiskProvisioner::Private::work(const std::stop_token &stop)
{
    token = stop;
    while (!stop.stop_requested()) {
        lookAtAll(stop);
        std::unique_lock lock(mutex);
        const auto hasNews = [this] { return std::exchange(isDirty, false); };
        // Without a pause that runs only news can be a reason.
        if (pauses.empty())
            changed.wait(lock, stop, hasNews);
        else
            changed.wait_for(lock, stop, std::chrono::seconds(1), hasNews);
    }
}

void DiskProvisioner::Private::lookAtAll(const std::stop_token &stop)
{
    if (!claims.synced() || !volumes.synced())
        return;
    for (const KubeObject &volume : volumes.objects()) {
        if (stop.stop_requested() || !isToBeDeleted(*volume) || !mayTry(uidOf(*volume)))
            continue;
        const Status removed = removeDisk(*volume);
        note(uidOf(*volume), removed.has_value());
        if (!removed && !stop.stop_requested() && options.log)
            options.log("a disk is not deleted: " + removed.error().message);
    }
    for (const KubeObject &claim : claims.objects()) {
        if (stop.stop_requested())
            return;
        if (textOf(fieldOf(*claim, "status"), "phase") == "Bound")
            grow(*claim);
        else if (mayTry(uidOf(*claim)))
            provision(*claim);
    }
}

void DiskProvisioner::Private::provision(const json &claim)
{
    const std::string name = textOf(fieldOf(claim, "spec"), "storageClassName");
    if (name.empty() || volumes.find({}, "pvc-" + uidOf(claim)) || !isDue(claim, json{}))
        return; // of another driver, or made already and soon bound
    const auto storageClass
        = client.get(apiGroup("storage.k8s.io", "v1", "storageclasses", {}, name), calls<KubeCallOptions>());
    if (!storageClass || !isDue(claim, *storageClass))
        return;
    tell(claim, true, "Provisioning",
         "External provisioner is provisioning volume for claim \""
             + textOf(fieldOf(claim, "metadata"), "namespace") + "/"
             + textOf(fieldOf(claim, "metadata"), "name") + "\"");
    const Status made = makeVolume(claim, *storageClass);
    note(uidOf(claim), made.has_value());
    if (made)
        tell(claim, true, "ProvisioningSucceeded", "Successfully provisioned volume pvc-" + uidOf(claim));
    else
        tell(claim, false, "ProvisioningFailed",
             "failed to provision volume with StorageClass \"" + name + "\": " + made.error().message);
}

Status DiskProvisioner::Private::makeVolume(const json &claim, const json &storageClass)
{
    DiskPlace place = options.place;
    const std::string node
        = textOf(fieldOf(fieldOf(claim, "metadata"), "annotations"), "volume.kubernetes.io/selected-node");
    if (!node.empty()) {
        const auto object = client.get(coreV1("nodes", {}, node), calls<KubeCallOptions>());
        if (!object)
            return tl::unexpected(object.error());
        const json &labels = fieldOf(fieldOf(*object, "metadata"), "labels");
        place.zone = textOf(labels, "topology.gke.io/zone", place.zone);
    }
    const auto volume = volumeFor(claim, storageClass, place);
    if (!volume)
        return tl::unexpected(volume.error());
    std::error_code error;
    fs::create_directories(options.folder / diskOf(*volume), error);
    if (error)
        return fail(ErrorCode::ResourceExhausted,
                    "rpc error: code = ResourceExhausted desc = " + error.message());
    const auto made = client.create(coreV1("persistentvolumes"), *volume, calls());
    if (!made && made.error().code != ErrorCode::AlreadyExists)
        return tl::unexpected(made.error());
    return {};
}

/// First the data, then the object: who is killed in between finds the object again.
Status DiskProvisioner::Private::removeDisk(const json &volume)
{
    const std::string disk = diskOf(volume);
    if (!isSafeName(disk))
        return fail(ErrorCode::InvalidArgument, "'" + disk + "' is no name of a disk");
    std::error_code error;
    fs::remove_all(options.folder / disk, error);
    if (error)
        return fail(ErrorCode::Internal, "can't remove the folder of disk " + disk + ": " + error.message());
    const ResourcePath path = pathOf(volume, "persistentvolumes");
    KubeDeleteOptions deletion = calls<KubeDeleteOptions>();
    deletion.uid = uidOf(volume);
    if (const auto deleted = client.remove(path, deletion);
        !deleted && deleted.error().code != ErrorCode::NotFound)
        return tl::unexpected(deleted.error());
    const auto freed = client.modify(
        path,
        [](json &object) {
            json &finalizers = object["metadata"]["finalizers"];
            json kept = json::array();
            for (const json &finalizer : finalizers) {
                if (finalizer != diskFinalizer)
                    kept.push_back(finalizer);
            }
            const bool isChanged = finalizers.is_array() && kept.size() != finalizers.size();
            finalizers = std::move(kept);
            return isChanged;
        },
        calls());
    if (!freed && freed.error().code != ErrorCode::NotFound)
        return tl::unexpected(freed.error());
    return {};
}

void DiskProvisioner::Private::grow(const json &claim)
{
    const auto sizeOf = [](const json &list) { return parseQuantity(fieldOf(list, "storage")).value_or(0); };
    const json &wanted = fieldOf(fieldOf(fieldOf(claim, "spec"), "resources"), "requests");
    const json &status = fieldOf(claim, "status");
    if (sizeOf(wanted) <= sizeOf(fieldOf(status, "capacity")) || !mayTry(uidOf(claim)))
        return;
    const auto volume = volumes.find({}, textOf(fieldOf(claim, "spec"), "volumeName"));
    if (!volume || diskOf(*volume).empty())
        return;
    json size{{"capacity", {{"storage", fieldOf(wanted, "storage")}}}};
    bool isDone
        = client.patch(pathOf(*volume, "persistentvolumes"), PatchType::Merge, {{"spec", size}}, calls())
              .has_value();
    isDone = isDone && client.patchStatus(pathOf(claim, "persistentvolumeclaims"), size, calls()).has_value();
    note(uidOf(claim), isDone);
}

void DiskProvisioner::Private::tell(const json &claim, bool isGood, const std::string &reason,
                                    const std::string &text)
{
    const json &metadata = fieldOf(claim, "metadata");
    const auto now = std::chrono::system_clock::now();
    const std::string space = textOf(metadata, "namespace"), name = textOf(metadata, "name");
    json event{{"metadata", {{"generateName", name + "."}, {"namespace", space}}},
               {"involvedObject",
                {{"apiVersion", "v1"},
                 {"kind", "PersistentVolumeClaim"},
                 {"namespace", space},
                 {"name", name},
                 {"uid", uidOf(claim)}}},
               {"type", isGood ? "Normal" : "Warning"},
               {"reason", reason},
               {"message", text.substr(0, 1024)},
               {"source", {{"component", std::string(diskDriver) + "_slipway"}}},
               {"firstTimestamp", secondsText(now)},
               {"lastTimestamp", secondsText(now)},
               {"count", 1}};
    (void)client.create(coreV1("events", space), event, calls()); // nobody depends on it
}

DiskProvisioner::DiskProvisioner(KubeClient &client, DiskProvisionerOptions options)
    : d(std::make_unique<Private>(client, std::move(options)))
{
}

DiskProvisioner::~DiskProvisioner() = default;

} // namespace cluster::local
