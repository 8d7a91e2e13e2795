#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster {
class KubeClient;
}

namespace cluster::local {

struct TpuWebhookOptions
{
    std::string listenAddress; ///< On this machine, 127.x.
    std::string address; ///< The same as the cluster knows it, 10.x.
    std::string certificatePem; ///< For tpuWebhookHost.
    std::string keyPem;
    std::string caPem; ///< That the apiserver is told to trust.
    std::function<void(const std::string &)> log; ///< why an object was refused; may be empty
};

/// The name that its certificate must be for.
inline constexpr const char *tpuWebhookHost = "kuberay-tpu-webhook.ray-system.svc";

/// GKE's TPU webhook of the Ray operator add-on: mutates the pods that KubeRay creates for hosts of a slice
/// and judges RayClusters. Objects come one at a time. Made and destroyed on the io_context's thread;
/// its lists of pods are read on a thread of its own.
class TpuWebhook
{
public:
    /// `client` must outlive it.
    TpuWebhook(boost::asio::io_context &io, TpuWebhookOptions options, KubeClient &client);
    ~TpuWebhook(); ///< Waits for a list that is being read.
    TpuWebhook(const TpuWebhook &) = delete;
    TpuWebhook &operator=(const TpuWebhook &) = delete;

    [[nodiscard]] Status listen();
    /// After listen(). Blocking: not on the io_context's thread.
    [[nodiscard]] Status registerWith(KubeClient &client) const;

    /// Where the cluster has no Ray operator (any more): nobody is to be asked. Blocking.
    [[nodiscard]] static Status unregisterFrom(KubeClient &client);

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
