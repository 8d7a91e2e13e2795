#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace boost::asio {
class io_context;
}
namespace cluster {
class KubeClient;
}

namespace cluster::local {

class WorkPool;

struct PodKey
{
    std::string nameSpace, name, uid;
};

/// Tells the API server about pods. Of each pod one call is under way at a time; a status that was not sent
/// yet is replaced by a newer one. Failures that may pass are tried again for ever; a pod that is gone or
/// another by the same name is forgotten. Threads: the io_context's.
class PodWriter
{
public:
    /// All must outlive it. `onTrouble`: a refusal that will not pass, for the log.
    PodWriter(boost::asio::io_context &io, WorkPool &pool, KubeClient &client,
              std::function<void(const std::string &)> onTrouble);
    ~PodWriter();
    PodWriter(const PodWriter &) = delete;
    PodWriter &operator=(const PodWriter &) = delete;

    /// \param patch  {"status": …}, perhaps with metadata.annotations; the uid is added as a precondition.
    void writeStatus(const PodKey &pod, nlohmann::json patch);
    /// Deletes it with grace 0, once what was to be written has been written.
    void remove(const PodKey &pod);
    void forget(const std::string &uid);

    [[nodiscard]] std::size_t pending() const;

private:
    class Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
