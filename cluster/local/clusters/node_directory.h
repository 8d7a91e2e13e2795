#pragma once

#include "cluster/local/network/ipv4.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// Which node has an InternalIP, by a watch on the nodes. Callable from any thread.
class NodeDirectory
{
public:
    explicit NodeDirectory(KubeClient &client); ///< outlives it
    ~NodeDirectory();
    NodeDirectory(const NodeDirectory &) = delete;
    NodeDirectory &operator=(const NodeDirectory &) = delete;

    [[nodiscard]] std::optional<std::string> nodeAt(Ipv4 address) const;
    [[nodiscard]] nlohmann::json objects() const; ///< the Nodes, without their spec
    [[nodiscard]] nlohmann::json
    object(const std::string &name) const; ///< one of them; null where there is none
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t readyCount() const;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
