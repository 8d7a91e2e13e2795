#pragma once

#include "cluster/local/network/ipv4.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// What forwarding needs of a v1 Service.
struct ServiceFacts
{
    struct Port
    {
        std::string name; ///< Empty for the only port.
        std::uint16_t port = 0;

        friend bool operator==(const Port &, const Port &) = default;
    };

    std::string nameSpace;
    std::string name;
    std::optional<Ipv4> clusterIp; ///< None: headless or ExternalName.
    std::string externalName;
    std::string uid;
    std::vector<Port> ports; ///< TCP only.
    std::vector<std::string> otherPorts; ///< "53/UDP": what is not forwarded.

    friend bool operator==(const ServiceFacts &, const ServiceFacts &) = default;
};

/// What forwarding needs of a discovery.k8s.io/v1 EndpointSlice.
struct EndpointSliceFacts
{
    struct Endpoint
    {
        Ipv4 address;
        std::string hostName; ///< The pod's spec.hostname below a headless Service; may be empty.
        bool isReady = true; ///< Absent in the object means ready.

        friend bool operator==(const Endpoint &, const Endpoint &) = default;
    };

    std::string nameSpace;
    std::string name;
    std::string service; ///< Name of the Service; empty: of none.
    std::vector<ServiceFacts::Port> ports; ///< Port 0 (absent in the object): all.
    std::vector<Endpoint> endpoints;

    friend bool operator==(const EndpointSliceFacts &, const EndpointSliceFacts &) = default;
};

/// Read what is there; a member of the wrong type counts as absent.
[[nodiscard]] ServiceFacts readService(const nlohmann::json &service);
[[nodiscard]] EndpointSliceFacts readEndpointSlice(const nlohmann::json &slice);

} // namespace cluster::local
