#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/address_plan.h"
#include "cluster/local/network/dial_target.h"
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// A TCP port of a Service with a ClusterIP.
struct ServicePort
{
    std::string service; ///< namespace/name
    Ipv4 clusterIp; ///< 10.x
    std::uint16_t port = 0;

    friend auto operator<=>(const ServicePort &, const ServicePort &) = default;
};

/// What a Service asks for and does not get here.
struct ServiceProblem
{
    std::string nameSpace;
    std::string name;
    std::string uid;
    std::string text; ///< for a person: which port, why, and what to do

    friend auto operator<=>(const ServiceProblem &, const ServiceProblem &) = default;
};

/// What kube-proxy and the cluster's DNS know: Services and their EndpointSlices. Fed with the objects of two
/// watches (ServiceWatch does that); answers which endpoint a connection goes to. Callable from any thread.
class ServiceTable
{
public:
    explicit ServiceTable(AddressPlan plan);
    ~ServiceTable();
    ServiceTable(const ServiceTable &) = delete;
    ServiceTable &operator=(const ServiceTable &) = delete;

    /// A Service or EndpointSlice as the API has it, new or changed. Whatever it lacks counts as absent;
    /// nothing that it contains is an error. Addresses outside of the plan are ignored.
    void applyService(const nlohmann::json &service);
    void applyEndpointSlice(const nlohmann::json &slice);
    void removeService(const std::string &nameSpace, const std::string &name);
    void removeEndpointSlice(const std::string &nameSpace, const std::string &name);

    /// A ClusterIP's port that no object describes: `kubernetes`, whose endpoint is the apiserver's own port
    /// on this machine. Goes before what objects say.
    void pin(Ipv4 clusterIp, std::uint16_t port, DialTarget target);

    /// One of the ready endpoints of a ClusterIP's port, in turn. NotFound: no Service has that ClusterIP and
    /// port. Unavailable: it has no ready endpoint.
    [[nodiscard]] Result<DialTarget> resolve(Ipv4 clusterIp, std::uint16_t port) const;
    /// The same for `name`, `name.ns`, `name.ns.svc` and `name.ns.svc.cluster.local`, for a pod's name below
    /// a headless Service, and for ExternalNames (only `localhost`: there is no other network).
    [[nodiscard]] Result<DialTarget> resolve(std::string_view host, std::uint16_t port,
                                             std::string_view fromNamespace = "default") const;

    /// Text of a hosts file for processes of a pod in `nameSpace`: each Service under the names that the
    /// cluster's DNS gives it, with addresses of this machine (127.x: they can be connected to without root).
    /// A headless Service has a line for each ready pod, and one for each pod with a hostname of its own.
    [[nodiscard]] std::string hostsText(std::string_view nameSpace) const;

    /// All TCP ports of Services with a ClusterIP, sorted.
    [[nodiscard]] std::vector<ServicePort> ports() const;

    /// Ports of Services with a ClusterIP that are not TCP: nobody forwards them. Sorted.
    [[nodiscard]] std::vector<ServiceProblem> portsOfOtherProtocols() const;
    /// Namespace, name and uid of a Service, for a problem with it; empty ones if none has this ClusterIP.
    [[nodiscard]] ServiceProblem problemOf(Ipv4 clusterIp, std::string text) const;

    /// Called after each change of what `ports()` or `hostsText()` say, on the thread that made it. One at a
    /// time; an empty function ends it, and on return none is running.
    void onChanged(std::function<void()> changed);

private:
    struct Private;
    std::unique_ptr<Private> m_p;
};

} // namespace cluster::local
