#include "cluster/local/network/service_watch.h"

#include "cluster/kube/informer.h"
#include "cluster/local/network/service_table.h"
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using Remove = void (ServiceTable::*)(const std::string &, const std::string &);
using Apply = void (ServiceTable::*)(const Json &);

Informer::Handlers handlersFor(ServiceTable &table, Apply apply, Remove remove)
{
    Informer::Handlers handlers;
    handlers.onEvent = [&table, apply, remove](const InformerEvent &event) {
        if (event.type != InformerEventType::Deleted) {
            (table.*apply)(*event.object);
            return;
        }
        const Json &metadata = event.object->at("metadata");
        (table.*remove)(metadata.value("namespace", ""), metadata.value("name", ""));
    };
    return handlers;
}

} // namespace

struct ServiceWatch::Private
{
    Private(KubeClient &client, ServiceTable &table)
        : services(client, coreV1("services"),
                   handlersFor(table, &ServiceTable::applyService, &ServiceTable::removeService)),
          slices(client, apiGroup("discovery.k8s.io", "v1", "endpointslices"),
                 handlersFor(table, &ServiceTable::applyEndpointSlice, &ServiceTable::removeEndpointSlice))
    {
    }

    Informer services;
    Informer slices;
};

ServiceWatch::ServiceWatch(KubeClient &client, ServiceTable &services)
    : m_p(std::make_unique<Private>(client, services))
{
}

ServiceWatch::~ServiceWatch() = default;

bool ServiceWatch::isSynced() const
{
    return m_p->services.synced() && m_p->slices.synced();
}

} // namespace cluster::local
