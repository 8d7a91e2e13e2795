#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/runtimes/ray/hosted_replica.h"

#include <optional>
#include <tl/expected.hpp>

namespace cluster::local {

/// What GET /imagine asks for.
struct ImagineRequest
{
    std::string prompt;
    int size = 512; ///< pixels
};

/// The query of the tutorials' apps, or FastAPI's answer to a wrong one. \param takesSize  `img_size` counts
/// (the GPU app's; the TPU app's pictures are always 512 pixels wide)
tl::expected<ImagineRequest, ServerResponse> readImagineRequest(const ServerRequest &request, bool takesSize);

/// APIIngress: GET /imagine, checked and handed to the model. `arguments`: takes_size.
Result<std::unique_ptr<HostedReplica>> imagineIngress(boost::asio::io_context &io, const std::string &address,
                                                      const ServeReplicaSpec &spec, HostedHandlers handlers);
/// The model's side, which draws a placeholder. `arguments`: batch, batch_wait_seconds, seconds.
Result<std::unique_ptr<HostedReplica>> imagineModel(boost::asio::io_context &io, const std::string &address,
                                                    const ServeReplicaSpec &spec, HostedHandlers handlers);

} // namespace cluster::local
