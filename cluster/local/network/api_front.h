#pragma once

#include "cluster/base/result.h"
#include "cluster/local/network/dial_target.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

struct ApiFrontOptions
{
    std::size_t maxConnections = 1024; ///< Further ones are closed at once.
    std::chrono::milliseconds helloLimit{30000}; ///< For a client's first byte.
    /// How long a client is held while nobody listens at the target: a server that is being started again.
    /// Shorter than the 10 s after which kubectl gives a TLS handshake up.
    std::chrono::milliseconds dialPatience{8000};
};

/// The port of an API server that clients know: TCP on 127.0.0.1, joined byte by byte with the server's own
/// port, so that TLS passes through untouched, the server's port may change, and it is known when somebody
/// last used it. While there is no server, whoever connects and says something is held, and asked for.
/// Half-closes are passed on; a slow end slows the other. Runs on the io_context's thread, where it is also
/// made and destroyed.
class ApiFront
{
public:
    using Clock = std::chrono::steady_clock;

    struct Use
    {
        std::size_t connections = 0; ///< of clients that said something: joined, or held
        Clock::time_point last; ///< when one last came or went; zero: never
    };

    /// `onWanted`: a client is held. Called from inside, each time.
    ApiFront(boost::asio::io_context &io, ApiFrontOptions options, std::function<void()> onWanted);
    ~ApiFront(); ///< Closes all connections.
    ApiFront(const ApiFront &) = delete;
    ApiFront &operator=(const ApiFront &) = delete;

    /// `port` 0: any. The port. Unavailable: it is taken.
    [[nodiscard]] Result<std::uint16_t> listen(std::uint16_t port);

    void serve(DialTarget target); ///< Those who are held go on to there.
    void hold(); ///< There is no server now. What is joined stays so until the server ends it.
    void dropHeld(); ///< The server did not come: closes those who wait for it.
    /// hold(), if nobody uses it at this moment; so no client is cut off and none is missed.
    [[nodiscard]] bool holdIfUnused();

    [[nodiscard]] Use use() const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
