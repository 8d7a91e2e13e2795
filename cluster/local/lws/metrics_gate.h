#pragma once

#include "cluster/kube/kube_client.h"

#include <string>

namespace cluster::local {

/// Who may read the metrics page: whom the API server knows by the token and lets GET `path`.
/// \param authorization  the request's header, "Bearer …". Unauthenticated, PermissionDenied; errors of the
/// API server. Blocking.
[[nodiscard]] Status checkMetricsReader(KubeClient &client, const std::string &authorization,
                                        const std::string &path, const KubeCallOptions &call = {});

} // namespace cluster::local
