#pragma once

#include "cluster/local/network/ipv4.h"
#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

struct ServiceName
{
    std::string nameSpace;
    std::string name;

    friend auto operator<=>(const ServiceName &, const ServiceName &) = default;
};

/// A pod below a headless Service: `host.service`.
struct PodName
{
    std::string host;
    ServiceName service;

    friend auto operator<=>(const PodName &, const PodName &) = default;
};

/// What a DNS name can mean for a pod of a namespace, in the order in which the resolver's search list
/// (ns.svc.cluster.local, svc.cluster.local, cluster.local) would find it.
struct NameMeanings
{
    std::vector<PodName> pods;
    std::vector<ServiceName> services;
};

/// Names are compared in lower case, a dot at the end is allowed. Empty for what can't be of the cluster.
[[nodiscard]] NameMeanings meaningsOf(std::string_view host, std::string_view fromNamespace);

/// A line of a hosts file with all names of a Service, or of `host` below it.
[[nodiscard]] std::string hostsLine(Ipv4 address, std::string_view host, const ServiceName &service,
                                    std::string_view fromNamespace);

} // namespace cluster::local
