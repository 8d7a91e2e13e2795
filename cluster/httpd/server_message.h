#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster {

/// Name and value, in the order of the wire. Names compare without regard to case.
using HeaderFields = std::vector<std::pair<std::string, std::string>>;
using QueryFields = std::vector<std::pair<std::string, std::string>>;

/// The first field of this name, in any case. The view lives as long as `fields`.
std::optional<std::string_view> findHeader(const HeaderFields &fields, std::string_view name);

/// Takes the body of a request while it arrives, for bodies that don't fit into memory. Called on the io
/// thread; destroyed when the request is over, also when the client goes in the middle.
class BodySink
{
public:
    virtual ~BodySink() = default;
    /// The next piece. False: the rest is not wanted; the request goes to its handler as it is, and the
    /// connection is closed after the answer.
    virtual bool write(std::string_view piece) = 0;
};

/// What a client asked. Read whole (header and body) before a handler sees it, except for CONNECT and
/// upgrades, whose bytes follow through ServerExchange::upgrade.
struct ServerRequest
{
    std::string method; ///< as sent: "GET", "CONNECT"
    std::string target; ///< as sent: "/a%2Fb?x=1", "10.0.0.1:443" for CONNECT
    /// The target's path, percent-decoded. Never with a "." or ".." segment or a NUL: such requests are
    /// answered 400 before any handler. An encoded slash is a slash here; `segments` keeps the difference.
    std::string path;
    std::vector<std::string>
        segments; ///< the path's parts between slashes, each decoded: "/a/b%2Fc" {a, b/c}
    QueryFields query; ///< decoded, "+" is a blank; a name without "=" has an empty value
    HeaderFields headers;
    std::string body; ///< empty where a sink took it
    std::shared_ptr<BodySink> sink; ///< see ListenerOptions::openSink
    std::string peerCommonName; ///< CN of the client's verified certificate, empty without one
    std::string localAddress; ///< the address that was dialled, "127.0.0.1"; empty on a Unix socket
    unsigned short localPort = 0;
    bool isTls = false; ///< came over TLS: what a link to this server must begin with
    std::string peerAddress; ///< the client's, "127.0.0.1"; empty on a Unix socket

    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
    /// The first value of this name in the query.
    [[nodiscard]] std::optional<std::string> queryValue(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> queryValues(std::string_view name) const;
    /// The client asks to leave HTTP: "Connection: Upgrade", or CONNECT.
    [[nodiscard]] bool wantsUpgrade() const;
};

struct ServerResponse
{
    int status = 200;
    HeaderFields headers; ///< without Content-Length, Transfer-Encoding, Connection and Date: those are made
    std::string body;
};

/// Decodes %XX (and, where asked, "+"). Nothing where an escape is broken.
std::optional<std::string> percentDecoded(std::string_view text, bool plusIsBlank = false);
std::string urlEncoded(std::string_view text); ///< all but letters, digits and -._~

} // namespace cluster
