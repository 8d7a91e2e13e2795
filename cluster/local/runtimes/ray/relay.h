#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/runtimes/ray/http_call.h"
#include "cluster/local/runtimes/ray/target_pool.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cluster::local {

struct RelayOptions
{
    std::string target; ///< path and query, as the replica shall see them
    HeaderFields headers; ///< added to the request, in place of the client's of the same name
    HeaderFields answerHeaders; ///< added to the answer, likewise
    /// An answer of 400 and more is gathered and given here instead of being passed on.
    std::function<ServerResponse(int status, const std::string &body)> onError;
    std::function<void(int status)> onDone; ///< once; 0: the client went before there was an answer
};

/// Passes a client's request to a replica and its answer back as it comes, event streams too. When the client
/// goes the call ends; when the replica goes before its answer has begun the client gets a 500, later its
/// connection is cut. The lease is held until the end.
void relay(boost::asio::io_context &io, const std::shared_ptr<ServerExchange> &exchange,
           std::shared_ptr<TargetLease> lease, RelayOptions options);

/// Path and query of a request, as sent; without `prefix` ("/b" of "/b/x?y").
std::string targetBelow(const ServerRequest &request, const std::string &prefix);

} // namespace cluster::local
