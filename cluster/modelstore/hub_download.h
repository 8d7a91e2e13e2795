#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/pull_options.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster {

class HttpClient;

/// One large file by HTTP.
struct HubDownload
{
    std::string url; ///< names a fixed version: what it gives never changes
    std::vector<std::pair<std::string, std::string>> headers;
    std::uint64_t bytes = 0; ///< 0: not known
    std::string sha256; ///< empty: not known
    std::function<Error(int status, std::string_view errorCode)>
        refusal; ///< the meaning of a status over 299
};

/// Gets it to `target`, or goes on behind what an earlier try left. A broken connection is taken up again, as
/// long as each try brings something. Returns the SHA-256. Errors: DataLoss if that or the size is wrong
/// (then nothing is kept), ResourceExhausted (disk; nothing is kept), those of HttpClient and `refusal` (what
/// has come is kept).
Result<std::string> fetchWithResume(HttpClient &http, const HubDownload &download,
                                    const std::filesystem::path &target, const PullOptions &options);

} // namespace cluster
