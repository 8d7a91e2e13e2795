#pragma once

#include "cluster/local/lws/lws_spec.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// The group that a pod belongs to, as it is stored now.
struct RestartGroup
{
    nlohmann::json leader; ///< pod; null: gone
    nlohmann::json workers; ///< the StatefulSet that controls the pod; null: none, or gone
    std::vector<nlohmann::json> pods; ///< all of the group
};

/// The pod is being deleted, or one of its containers was restarted.
[[nodiscard]] bool isLost(const nlohmann::json &pod);

/// The pod isLost(), and its set's restart policy has a say in it.
[[nodiscard]] bool endsItsGroup(const nlohmann::json &pod, const LwsSpec &spec);

enum class RestartVerdict {
    Keep, ///< the pod is as good as any
    DeleteLeader, ///< in the foreground: the group goes with it and is made anew
    LeaderIsGoing, ///< it is being deleted already
};

/// For a pod that endsItsGroup(). \param lws  For its annotations.
[[nodiscard]] RestartVerdict restartVerdict(const nlohmann::json &lws, const nlohmann::json &pod,
                                            const RestartGroup &group);

} // namespace cluster::local
