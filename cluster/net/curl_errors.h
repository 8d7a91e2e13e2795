#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <curl/curl.h>
#include <string>

namespace cluster {

/// What had happened when a transfer failed: enough to say what to do about it.
struct TransferFailure
{
    CURLcode code = CURLE_OK;
    std::string detail; ///< libcurl's own text; may be empty
    std::string host;
    std::int64_t receivedBytes = 0; ///< of the body
    bool hadHeaders = false;
    bool isConnected = false; ///< the request was sent, or its sending had begun
};

Error toError(const TransferFailure &failure);

} // namespace cluster
