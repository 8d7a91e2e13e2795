#include "cluster/local/nodeagent/grpc_probe.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <curl/curl.h>
#include <memory>
#include <string_view>

namespace cluster::local {

namespace {

constexpr std::size_t longestAnswer = 65536;
constexpr int unimplemented = 12, deadlineExceeded = 4;

/// What came back, and whether to give up meanwhile.
struct Call
{
    const CancelToken &cancel;
    std::string body;
    int status = -1; ///< grpc-status
    std::string message; ///< grpc-message
};

std::string codeName(int code)
{
    static constexpr const char *names[]
        = {"OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
           "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
           "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
           "DataLoss", "Unauthenticated"};
    const bool isKnown = code >= 0 && code < static_cast<int>(std::size(names));
    return isKnown ? names[code] : "Code(" + std::to_string(code) + ")";
}

std::string servingName(int status)
{
    static constexpr const char *names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
    const bool isKnown = status >= 0 && status < static_cast<int>(std::size(names));
    return isKnown ? names[status] : std::to_string(status);
}

std::size_t onBody(char *data, std::size_t, std::size_t size, void *target)
{
    auto &call = *static_cast<Call *>(target);
    if (call.body.size() + size > longestAnswer)
        return 0;
    call.body.append(data, size);
    return size;
}

/// Called for trailers as well.
std::size_t onHeader(char *data, std::size_t, std::size_t size, void *target)
{
    auto &call = *static_cast<Call *>(target);
    std::string line(data, size);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
        line.pop_back();
    const std::size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(' ', colon + 1);
    const std::string value = begin == std::string::npos ? std::string() : line.substr(begin);
    if (name == "grpc-status")
        call.status = std::atoi(value.c_str());
    else if (name == "grpc-message")
        call.message = value;
    return size;
}

int onProgress(void *target, curl_off_t, curl_off_t, curl_off_t, curl_off_t)
{
    return static_cast<Call *>(target)->cancel.stop_requested() ? 1 : 0;
}

struct EasyDeleter
{
    void operator()(CURL *handle) const { curl_easy_cleanup(handle); }
};
struct ListDeleter
{
    void operator()(curl_slist *list) const { curl_slist_free_all(list); }
};

CURLcode perform(const GrpcProbeRequest &request, Call &call)
{
    const std::unique_ptr<CURL, EasyDeleter> handle(curl_easy_init());
    if (!handle)
        return CURLE_FAILED_INIT;
    std::unique_ptr<curl_slist, ListDeleter> headers;
    for (const char *line : {"Content-Type: application/grpc", "TE: trailers", "Expect:", "Accept:"})
        headers.reset(curl_slist_append(headers.release(), line));
    const std::string body = grpcHealthRequest(request.service);
    const std::string url
        = "http://" + request.address + ":" + std::to_string(request.port) + "/grpc.health.v1.Health/Check";
    CURL *const curl = handle.get();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "kube-probe/1.34");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, onBody);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &call);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, onHeader);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &call);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, onProgress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &call);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    return curl_easy_perform(curl);
}

ProbeResult failure(std::string message)
{
    return {false, std::move(message)};
}

} // namespace

std::string grpcHealthRequest(const std::string &service)
{
    std::string message;
    if (!service.empty()) {
        message += '\x0a'; // field 1, length-delimited
        for (std::size_t size = service.size();; size >>= 7) {
            message += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
            if (size <= 0x7f)
                break;
        }
        message += service;
    }
    std::string framed(1, '\0'); // not compressed
    for (int shift = 24; shift >= 0; shift -= 8)
        framed += static_cast<char>((message.size() >> shift) & 0xff);
    return framed + message;
}

int grpcHealthStatus(const std::string &body)
{
    if (body.size() < 5 || body[0] != 0)
        return -1;
    std::size_t size = 0;
    for (std::size_t i = 1; i < 5; ++i)
        size = size << 8 | static_cast<unsigned char>(body[i]);
    if (body.size() - 5 != size)
        return -1;
    if (size == 0)
        return 0; // proto3 leaves out what is 0
    if (size < 2 || body[5] != '\x08')
        return -1;
    int status = 0;
    for (std::size_t i = 6, shift = 0; i < body.size() && shift < 28; ++i, shift += 7) {
        status |= (static_cast<unsigned char>(body[i]) & 0x7f) << shift;
        if ((static_cast<unsigned char>(body[i]) & 0x80) == 0)
            return status;
    }
    return -1;
}

ProbeResult checkGrpcHealth(const GrpcProbeRequest &request, const CancelToken &cancel)
{
    Call call{cancel, {}, -1, {}};
    const CURLcode result = perform(request, call);
    const std::string limit = durationText(std::chrono::duration_cast<std::chrono::seconds>(request.timeout));
    if (result == CURLE_COULDNT_CONNECT)
        return failure("timeout: failed to connect service \"" + request.shown + "\" within " + limit
                       + ": context deadline exceeded: connection error: desc = \"transport: Error while "
                         "dialing: dial tcp "
                       + request.shown + ": connect: connection refused\"");
    if (result == CURLE_OPERATION_TIMEDOUT || call.status == deadlineExceeded)
        return failure("timeout: health rpc did not complete within " + limit);
    if (call.status == unimplemented)
        return failure("error: this server does not implement the grpc health protocol "
                       "(grpc.health.v1.Health): "
                       + call.message);
    if (call.status > 0)
        return failure("error: health rpc probe failed: rpc error: code = " + codeName(call.status)
                       + " desc = " + call.message);
    const int status = grpcHealthStatus(call.body);
    if (call.status < 0 || status < 0)
        return failure("error: health rpc probe failed: rpc error: code = Unavailable desc = "
                       + std::string(result == CURLE_OK ? "no gRPC answer" : curl_easy_strerror(result)));
    if (servingName(status) != "SERVING")
        return failure("service unhealthy (responded with \"" + servingName(status) + "\")");
    return {true, "service healthy"};
}

} // namespace cluster::local
