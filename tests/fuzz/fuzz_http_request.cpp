// Bytes of an HTTP client as the HTTP server of the local target reads them, in two pieces.

#include "cluster/httpd/request_reader.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace cluster;

namespace {

/// What no handler may ever see.
void checkRequest(const ServerRequest &request)
{
    for (const std::string &segment : request.segments) {
        if (segment == "." || segment == ".." || segment.find('\0') != std::string::npos)
            std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    ListenerOptions options;
    options.limits.maxBodyBytes = 4096;
    options.limits.maxHeaderBytes = 4096;
    std::string input(text.substr(0, size / 2));
    bool hasSecondHalf = false;
    for (int requests = 0; requests < 100; ++requests) {
        RequestReader reader(options);
        auto state = reader.take(input);
        if (state == RequestReader::State::WantsMore && !hasSecondHalf) {
            hasSecondHalf = true;
            input += text.substr(size / 2);
            state = reader.take(input);
        }
        if (state != RequestReader::State::Done)
            break;
        ServerRequest request = reader.release();
        if (request.body.size() > options.limits.maxBodyBytes)
            std::abort();
        checkRequest(request);
        (void)request.wantsUpgrade();
    }
    return 0;
}
