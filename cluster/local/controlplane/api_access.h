#pragma once

#include "cluster/base/result.h"
#include "cluster/local/controlplane/control_plane.h"
#include "cluster/net/http_client.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

/// The few calls that bring a new API server up. All else goes through cluster/kube.
class ApiAccess
{
public:
    explicit ApiAccess(ControlPlaneEndpoint endpoint);

    /// True if GET `path` is answered with 200 within a few seconds.
    [[nodiscard]] bool answers(const std::string &path);

    /// Server-side apply of the CustomResourceDefinitions in the files `<group>_<plural>.yaml` of `folder`. A
    /// file that this server has been given before, unchanged, costs one small read.
    Status applyDefinitions(const std::filesystem::path &folder, const Deadline &deadline);

    /// "/apis/ray.io/v1/rayclusters" and so on: where the kinds of these files are listed once they are
    /// served, sorted. That comes a while after their definitions were taken: the server builds handlers and
    /// caches for each kind by itself, and answers 404, 429 or 503 until then, also after a restart.
    static std::vector<std::string> listPaths(const std::filesystem::path &folder);

private:
    Result<HttpResponse> call(HttpRequest request, const Deadline &deadline);
    Status applyDefinition(const std::filesystem::path &file, const Deadline &deadline);

    ControlPlaneEndpoint m_endpoint;
    HttpClient m_http;
};

} // namespace cluster::local
