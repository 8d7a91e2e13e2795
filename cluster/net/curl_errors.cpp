#include "cluster/net/curl_errors.h"

namespace cluster {

namespace {

Error cutError(const TransferFailure &failure, const std::string &why)
{
    if (failure.hadHeaders)
        return {ErrorCode::DataLoss,
                failure.host + " cut the connection in the middle of its answer (after "
                    + std::to_string(failure.receivedBytes) + " bytes; " + why
                    + "): the server or a proxy between ended; see its log, then try again"};
    return {ErrorCode::Unavailable,
            failure.host + " closed the connection without an answer (" + why
                + "): the server may have just ended; see its log, then try again"};
}

Error notHttpError(const TransferFailure &failure, const std::string &why)
{
    return {failure.hadHeaders ? ErrorCode::DataLoss : ErrorCode::Unavailable,
            "the answer of " + failure.host + " is not proper HTTP (" + why
                + "): check the port, and whether it wants https instead of http"};
}

} // namespace

Error toError(const TransferFailure &failure)
{
    const std::string &host = failure.host;
    const std::string why = failure.detail.empty() ? curl_easy_strerror(failure.code) : failure.detail;
    switch (failure.code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (failure.isConnected) // so libcurl calls an answer without a status line
            return notHttpError(failure, why);
        return {ErrorCode::InvalidArgument,
                "the address of " + host + " can't be used (" + why + "): give one like http://host:port"};
    case CURLE_COULDNT_RESOLVE_HOST:
        return {ErrorCode::Unavailable,
                "no address found for " + host + " (" + why + "): check the name and the network"};
    case CURLE_COULDNT_RESOLVE_PROXY:
        return {ErrorCode::Unavailable,
                "no address found for the proxy on the way to " + host + " (" + why
                    + "): check http_proxy, https_proxy and no_proxy"};
    case CURLE_COULDNT_CONNECT:
        return {ErrorCode::Unavailable,
                "nothing accepts connections at " + host + " (" + why
                    + "): check that the server is started, and its port"};
    case CURLE_OPERATION_TIMEDOUT:
        return {ErrorCode::DeadlineExceeded,
                "connecting to " + host + " took too long (" + why
                    + "): check the address, the network and any firewall"};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return {ErrorCode::FailedPrecondition,
                "the TLS certificate of " + host + " is not trusted (" + why
                    + "): give the authority's certificate, or check that this is the right host"};
    case CURLE_SSL_CERTPROBLEM:
        return {ErrorCode::FailedPrecondition,
                "the client certificate for " + host + " can't be used (" + why
                    + "): check that its file and its key's file are there, readable, and belong together"};
    case CURLE_SSL_CONNECT_ERROR:
        return {ErrorCode::FailedPrecondition,
                "no TLS connection to " + host + " (" + why
                    + "): check whether it wants http instead of https"};
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return notHttpError(failure, why);
    case CURLE_TOO_MANY_REDIRECTS:
        return {ErrorCode::FailedPrecondition,
                host + " redirects in a circle (" + why + "): check the address"};
    case CURLE_OUT_OF_MEMORY:
        return {ErrorCode::ResourceExhausted, "out of memory while talking to " + host};
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return cutError(failure, why);
    default:
        return {ErrorCode::Unknown, "talking to " + host + " failed (" + why + ")"};
    }
}

} // namespace cluster
