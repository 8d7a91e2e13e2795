#pragma once

#include "cluster/base/result.h"

#include <string>

namespace cluster::local {

/// A request of Prometheus's HTTP API, below /api/v1/.
struct MetricQuestion
{
    std::string method = "GET"; ///< or POST
    std::string path; ///< "query", "label/job/values", encoded
    std::string parameters; ///< of the URL, as they came, without '?'
    std::string contentType; ///< of the body
    std::string body;
};

/// As Prometheus gave it, also where it is an error.
struct MetricAnswer
{
    int status = 0;
    std::string contentType;
    std::string body;
};

/// Who has the samples that Managed Prometheus collects in the clusters of a project. Any thread.
class MetricStore
{
public:
    virtual ~MetricStore() = default;
    /// Blocks; starts what it takes. Errors: FailedPrecondition (there is no Prometheus; what to install),
    /// Unavailable (it does not answer), Cancelled (stopping).
    virtual Result<MetricAnswer> ask(const std::string &project, const MetricQuestion &question) = 0;
};

} // namespace cluster::local
