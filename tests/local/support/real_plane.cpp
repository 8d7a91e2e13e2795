#include "tests/local/support/real_plane.h"

#include "cluster/local/controlplane/control_plane_programs.h"

#include <QTemporaryDir>

namespace tests {

using namespace cluster;
using namespace cluster::local;

RealPlane::RealPlane(bool controllers)
{
    const char *folder = std::getenv("SLIPWAY_CONTROLPLANE_DIR");
    const Result<std::filesystem::path> programs
        = findControlPlanePrograms({folder ? folder : ""}, controllers, false);
    if (!programs) {
        m_missing = programs.error().message;
        return;
    }
    m_folder = std::make_unique<QTemporaryDir>();
    ControlPlaneOptions options;
    options.name = "test";
    options.dir = m_folder->path().toStdString();
    options.programs = *programs;
    options.controllers = controllers;
    options.ray = false;
    options.startTimeout = std::chrono::seconds(300); // other tests run beside it
    m_plane = std::make_unique<ControlPlane>(options);
    const Result<ControlPlaneEndpoint> endpoint = m_plane->start();
    if (!endpoint) {
        m_failure = endpoint.error().message;
        return;
    }
    m_endpoint = *endpoint;
    KubeEndpoint kube;
    kube.url = endpoint->url;
    kube.caFile = endpoint->caFile;
    kube.token = endpoint->adminToken;
    m_client = std::make_unique<KubeClient>(m_http, kube);
}

RealPlane::~RealPlane() = default;

bool RealPlane::restart()
{
    m_plane->stop();
    const Result<ControlPlaneEndpoint> endpoint = m_plane->start();
    if (!endpoint)
        m_failure = endpoint.error().message;
    return endpoint.has_value();
}

} // namespace tests
