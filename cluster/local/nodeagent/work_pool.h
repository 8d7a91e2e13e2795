#pragma once

#include "cluster/base/cancellation.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

/// Threads for what blocks (calls to the API server, files). What `work` returns is called on the io_context
/// afterwards, so that all state stays there.
class WorkPool
{
public:
    using Work = std::function<std::function<void()>()>;

    WorkPool(boost::asio::io_context &io, std::size_t threads);
    ~WorkPool(); ///< Cancels and waits for what runs; what it would have called afterwards is dropped.
    WorkPool(const WorkPool &) = delete;
    WorkPool &operator=(const WorkPool &) = delete;

    void run(Work work);
    /// For the options of blocking calls.
    [[nodiscard]] CancelToken token() const;

private:
    class Private;
    std::unique_ptr<Private> m_p;
};

} // namespace cluster::local
