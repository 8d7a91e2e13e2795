#include "cluster/local/network/service_names.h"

#include <algorithm>

namespace cluster::local {

namespace {

constexpr std::size_t longestName = 253; // RFC 1035

std::vector<std::string> labelsOf(std::string_view host)
{
    std::vector<std::string> labels(1);
    for (const char c : host) {
        const bool isUpper = c >= 'A' && c <= 'Z';
        if (c == '.')
            labels.emplace_back();
        else
            labels.back() += static_cast<char>(isUpper ? c - 'A' + 'a' : c);
    }
    if (labels.size() > 1 && labels.back().empty())
        labels.pop_back();
    return labels;
}

bool takeTail(std::vector<std::string> &labels, std::initializer_list<std::string_view> tail)
{
    if (labels.size() <= tail.size()
        || !std::equal(tail.begin(), tail.end(), labels.end() - std::ssize(tail)))
        return false;
    labels.resize(labels.size() - tail.size());
    return true;
}

} // namespace

NameMeanings meaningsOf(std::string_view host, std::string_view fromNamespace)
{
    NameMeanings meanings;
    if (host.empty() || host.size() > longestName)
        return meanings;
    std::vector<std::string> labels = labelsOf(host);
    if (std::any_of(labels.begin(), labels.end(), [](const std::string &label) { return label.empty(); }))
        return meanings;
    const std::string own(fromNamespace);
    const bool isFull = takeTail(labels, {"svc", "cluster", "local"}) || takeTail(labels, {"svc"});
    if (labels.size() == 1 && !isFull)
        meanings.services.push_back({own, labels[0]});
    if (labels.size() == 2) {
        if (!isFull)
            meanings.pods.push_back({labels[0], {own, labels[1]}});
        meanings.services.push_back({labels[1], labels[0]});
    }
    if (labels.size() == 3)
        meanings.pods.push_back({labels[0], {labels[2], labels[1]}});
    return meanings;
}

std::string hostsLine(Ipv4 address, std::string_view host, const ServiceName &service,
                      std::string_view fromNamespace)
{
    const std::string shortest = host.empty() ? service.name : std::string(host) + "." + service.name;
    const std::string withNamespace = shortest + "." + service.nameSpace;
    std::string line = address.text() + " " + withNamespace + ".svc.cluster.local " + withNamespace + ".svc "
        + withNamespace;
    if (service.nameSpace == fromNamespace)
        line += " " + shortest;
    return line + "\n";
}

} // namespace cluster::local
