#include "cluster/local/clusters/node_directory.h"

#include "cluster/kube/informer.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

struct NodeFacts
{
    std::string name;
    std::optional<Ipv4> address;
    bool isReady = false;
};

NodeFacts factsOf(const nlohmann::json &node)
{
    NodeFacts facts;
    facts.name = node.at("metadata").value("name", "");
    const nlohmann::json status = node.value("status", nlohmann::json::object());
    for (const nlohmann::json &address : status.value("addresses", nlohmann::json::array())) {
        if (address.value("type", "") == "InternalIP")
            facts.address = Ipv4::parse(address.value("address", ""));
    }
    for (const nlohmann::json &condition : status.value("conditions", nlohmann::json::array()))
        facts.isReady |= condition.value("type", "") == "Ready" && condition.value("status", "") == "True";
    return facts;
}

} // namespace

struct NodeDirectory::Private
{
    void take(const InformerEvent &event)
    {
        const NodeFacts facts = factsOf(*event.object);
        const std::scoped_lock lock(mutex);
        nodes.erase(facts.name);
        if (event.type != InformerEventType::Deleted)
            nodes.emplace(facts.name, facts);
        names.clear();
        for (const auto &[name, node] : nodes) {
            if (node.address)
                names[*node.address] = name;
        }
    }

    mutable std::mutex mutex; ///< guards nodes and names
    std::map<std::string, NodeFacts> nodes;
    std::map<Ipv4, std::string> names;
    std::unique_ptr<Informer> informer; ///< last: its thread ends before what it fills
};

NodeDirectory::NodeDirectory(KubeClient &client) : d(std::make_unique<Private>())
{
    Informer::Handlers handlers;
    handlers.onEvent = [this](const InformerEvent &event) { d->take(event); };
    InformerOptions options;
    options.prune = [](nlohmann::json &node) { node.erase("spec"); };
    d->informer
        = std::make_unique<Informer>(client, coreV1("nodes"), std::move(handlers), std::move(options));
}

NodeDirectory::~NodeDirectory()
{
    d->informer.reset();
}

std::optional<std::string> NodeDirectory::nodeAt(Ipv4 address) const
{
    const std::scoped_lock lock(d->mutex);
    const auto found = d->names.find(address);
    return found == d->names.end() ? std::nullopt : std::optional(found->second);
}

nlohmann::json NodeDirectory::objects() const
{
    nlohmann::json nodes = nlohmann::json::array();
    for (const KubeObject &node : d->informer->objects())
        nodes.push_back(*node);
    return nodes;
}

nlohmann::json NodeDirectory::object(const std::string &name) const
{
    const KubeObject node = d->informer->find({}, name);
    return node ? *node : nlohmann::json();
}

std::size_t NodeDirectory::size() const
{
    const std::scoped_lock lock(d->mutex);
    return d->nodes.size();
}

std::size_t NodeDirectory::readyCount() const
{
    const std::scoped_lock lock(d->mutex);
    std::size_t count = 0;
    for (const auto &[name, node] : d->nodes)
        count += node.isReady ? 1 : 0;
    return count;
}

} // namespace cluster::local
