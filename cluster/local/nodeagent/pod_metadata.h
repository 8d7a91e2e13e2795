#pragma once

#include "cluster/base/result.h"

#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

struct PodSpec;

/// How a pod's processes find the metadata server.
struct PodMetadataAccess
{
    std::vector<std::pair<std::string, std::string>> variables; ///< "GCE_METADATA_HOST", …
    std::string hosts; ///< lines of a hosts file
};

/// Gives pods with processes a metadata server that knows who they are. On the agent's io_context.
class PodMetadata
{
public:
    virtual ~PodMetadata() = default;

    /// Again for the same pod: the same.
    virtual Result<PodMetadataAccess> open(const PodSpec &pod) = 0;
    virtual void close(const std::string &uid) = 0;
};

} // namespace cluster::local
