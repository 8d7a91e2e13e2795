#include "cluster/local/clusters/local_clusters.h"

#include "cluster/local/network/address_claim.h"
#include "cluster/local/network/address_plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

struct LocalClusters::Private
{
    Private(LocalClusterSurroundings s, fs::path dir) : surroundings(std::move(s)), folder(std::move(dir)) {}

    [[nodiscard]] Result<std::shared_ptr<LocalCluster>> find(const std::string &id) const;
    /// The one of this id, or a new one with a free range of addresses.
    Result<std::shared_ptr<LocalCluster>> findOrAdd(const ClusterSpec &spec);
    void add(KeptCluster kept);
    /// Short, since the paths of Unix sockets in it must be; ids are random from the first digit on.
    [[nodiscard]] fs::path folderOf(const std::string &id) const { return folder / id.substr(0, 16); }

    LocalClusterSurroundings surroundings;
    const fs::path folder;
    mutable std::mutex mutex; ///< guards clusters and indices
    std::map<std::string, std::shared_ptr<LocalCluster>> clusters;
    std::map<std::string, int> indices;
    std::map<std::string, std::string> unreadable; ///< by folder: why its record can't be understood
    std::map<std::string, AddressClaim> claims; ///< By id; of those whose addresses no other process holds.
    CancelSource stopping;
    std::vector<std::jthread> starters;
};

Result<std::shared_ptr<LocalCluster>> LocalClusters::Private::find(const std::string &id) const
{
    const std::scoped_lock lock(mutex);
    const auto found = clusters.find(id);
    if (found == clusters.end())
        return fail(ErrorCode::NotFound, "the local target has no cluster of id " + id);
    return found->second;
}

void LocalClusters::Private::add(KeptCluster kept)
{
    const std::string id = kept.spec.id;
    indices[id] = kept.index;
    if (!claims.contains(id)) {
        if (auto claim = AddressClaim::take(kept.index))
            claims.emplace(id, std::move(*claim));
        else
            surroundings.log(kept.spec.name, claim.error().message);
    }
    clusters[id] = std::make_shared<LocalCluster>(surroundings, folderOf(id), std::move(kept));
}

Result<std::shared_ptr<LocalCluster>> LocalClusters::Private::findOrAdd(const ClusterSpec &spec)
{
    const std::scoped_lock lock(mutex);
    if (const auto found = clusters.find(spec.id); found != clusters.end())
        return found->second;
    std::set<int> used;
    for (const auto &[id, index] : indices)
        used.insert(index);
    // Free here, and among the local targets of other users and of tests.
    int index = 0;
    for (; index < AddressPlan::maxClusters; ++index) {
        if (used.contains(index))
            continue;
        if (auto claim = AddressClaim::take(index)) {
            claims.insert_or_assign(spec.id, std::move(*claim));
            break;
        }
    }
    if (const auto plan = AddressPlan::forCluster(index); !plan)
        return fail(ErrorCode::ResourceExhausted,
                    "the local target holds " + std::to_string(AddressPlan::maxClusters)
                        + " clusters at most: delete one first");
    std::error_code error;
    fs::create_directories(folderOf(spec.id), error);
    fs::permissions(folderOf(spec.id), fs::perms::owner_all, error);
    if (error)
        return fail(ErrorCode::ResourceExhausted,
                    "can't make " + folderOf(spec.id).string() + ": " + error.message());
    add({.spec = spec, .index = index, .pools = {}});
    return clusters[spec.id];
}

LocalClusters::LocalClusters(LocalClusterSurroundings surroundings, fs::path folder)
    : d(std::make_unique<Private>(std::move(surroundings), std::move(folder)))
{
}

LocalClusters::~LocalClusters()
{
    stop();
}

void LocalClusters::resume()
{
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(d->folder, error)) {
        auto record = readRecord(entry.path());
        if (!record) {
            // A folder without a record is what a crash left of a cluster that was being made: the operation
            // that is taken on makes it again.
            if (record.error().code == ErrorCode::NotFound)
                continue;
            d->surroundings.log(entry.path().filename().string(), record.error().message);
            const std::scoped_lock lock(d->mutex);
            d->unreadable[entry.path().filename().string()] = record.error().message;
            continue;
        }
        const std::scoped_lock lock(d->mutex);
        d->add(std::move(*record));
    }
    const std::scoped_lock lock(d->mutex);
    for (const auto &[id, cluster] : d->clusters)
        d->starters.emplace_back(
            [cluster = cluster, cancel = d->stopping.get_token()] { (void)cluster->restore(cancel); });
}

void LocalClusters::stop()
{
    d->stopping.request_stop();
    d->starters.clear(); // joins
    std::map<std::string, std::shared_ptr<LocalCluster>> clusters;
    {
        const std::scoped_lock lock(d->mutex);
        clusters = d->clusters;
    }
    std::vector<std::jthread> stoppers;
    for (const auto &[id, cluster] : clusters)
        stoppers.emplace_back([cluster = cluster] { cluster->stop(); });
}

std::vector<LocalClusterState> LocalClusters::states() const
{
    std::vector<std::shared_ptr<LocalCluster>> clusters;
    {
        const std::scoped_lock lock(d->mutex);
        for (const auto &[id, cluster] : d->clusters)
            clusters.push_back(cluster);
    }
    std::vector<LocalClusterState> states;
    for (const auto &cluster : clusters)
        states.push_back(cluster->state());
    const std::scoped_lock lock(d->mutex);
    for (const auto &[folder, message] : d->unreadable) {
        LocalClusterState state;
        state.spec.id = folder;
        state.spec.name = folder;
        state.state = "unreadable";
        state.message = message;
        states.push_back(std::move(state));
    }
    return states;
}

Result<ClusterEndpoint> LocalClusters::createCluster(const ClusterSpec &spec, const StageHandler &onStage,
                                                     const CancelToken &cancel)
{
    const auto cluster = d->findOrAdd(spec);
    if (!cluster)
        return tl::unexpected(cluster.error());
    if (Status started = (*cluster)->start(onStage, cancel); !started)
        return tl::unexpected(started.error());
    return (*cluster)->endpoint();
}

Status LocalClusters::updateCluster(const ClusterSpec &spec, const StageHandler & /*onStage*/,
                                    const CancelToken & /*cancel*/)
{
    const auto cluster = d->find(spec.id);
    return cluster ? (*cluster)->update(spec) : tl::unexpected(cluster.error());
}

Status LocalClusters::deleteCluster(const std::string &clusterId, const StageHandler &onStage,
                                    const CancelToken & /*cancel*/)
{
    std::shared_ptr<LocalCluster> cluster;
    {
        const std::scoped_lock lock(d->mutex);
        const auto found = d->clusters.find(clusterId);
        if (found != d->clusters.end())
            cluster = found->second;
    }
    if (clusterId.empty())
        return fail(ErrorCode::InvalidArgument, "a cluster without an id");
    if (cluster) {
        onStage("ending the control plane", 0.2);
        cluster->stop();
    }
    std::error_code error; // also of a folder that could not be read at start
    fs::remove_all(d->folderOf(clusterId), error);
    if (error)
        return fail(ErrorCode::Internal,
                    "can't remove " + d->folderOf(clusterId).string() + ": " + error.message());
    const std::scoped_lock lock(d->mutex);
    d->unreadable.erase(d->folderOf(clusterId).filename().string());
    d->clusters.erase(clusterId);
    d->indices.erase(clusterId);
    d->claims.erase(clusterId);
    return {};
}

Status LocalClusters::createPool(const std::string &clusterId, const PoolSpec &pool,
                                 const StageHandler & /*onStage*/, const CancelToken &cancel)
{
    const auto cluster = d->find(clusterId);
    return cluster ? (*cluster)->createPool(pool, cancel) : tl::unexpected(cluster.error());
}

Status LocalClusters::updatePool(const std::string &clusterId, const PoolSpec &pool,
                                 const StageHandler & /*onStage*/, const CancelToken &cancel)
{
    const auto cluster = d->find(clusterId);
    return cluster ? (*cluster)->updatePool(pool, cancel) : tl::unexpected(cluster.error());
}

Status LocalClusters::deletePool(const std::string &clusterId, const std::string &pool,
                                 const StageHandler & /*onStage*/, const CancelToken &cancel)
{
    const auto cluster = d->find(clusterId);
    return cluster ? (*cluster)->deletePool(pool, cancel) : tl::unexpected(cluster.error());
}

Result<ClusterEndpoint> LocalClusters::endpoint(const std::string &clusterId)
{
    const auto cluster = d->find(clusterId);
    if (!cluster)
        return tl::unexpected(cluster.error());
    return (*cluster)->endpoint();
}

Result<std::vector<PoolState>> LocalClusters::pools(const std::string &clusterId)
{
    const auto cluster = d->find(clusterId);
    if (!cluster)
        return tl::unexpected(cluster.error());
    return (*cluster)->pools();
}

Status LocalClusters::apply(const std::string &clusterId, const HostFault &fault)
{
    const auto cluster = d->find(clusterId);
    return cluster ? (*cluster)->apply(fault) : tl::unexpected(cluster.error());
}

} // namespace cluster::local
