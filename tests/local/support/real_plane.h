#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/controlplane/control_plane.h"

#include <memory>
#include <string>

class QTemporaryDir;

namespace tests {

/// A real control plane for one test program, and a client of it.
class RealPlane
{
public:
    /// \param controllers  also the controller manager and the scheduler
    explicit RealPlane(bool controllers);
    ~RealPlane();

    /// Empty if it runs; else why the test is to be skipped (programs missing).
    [[nodiscard]] const std::string &missing() const { return m_missing; }
    /// Empty if it runs or is missing; else what went wrong.
    [[nodiscard]] const std::string &failure() const { return m_failure; }

    /// Stops and starts it, on the same port. False: see failure().
    bool restart();

    [[nodiscard]] cluster::KubeClient &client() { return *m_client; }
    [[nodiscard]] const cluster::local::ControlPlaneEndpoint &endpoint() const { return m_endpoint; }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<cluster::local::ControlPlane> m_plane;
    cluster::local::ControlPlaneEndpoint m_endpoint;
    cluster::HttpClient m_http;
    std::unique_ptr<cluster::KubeClient> m_client;
    std::string m_missing;
    std::string m_failure;
};

} // namespace tests
