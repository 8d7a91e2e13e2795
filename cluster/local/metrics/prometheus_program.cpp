#include "cluster/local/metrics/prometheus_program.h"

#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value != nullptr ? value : "";
}

bool isProgram(const fs::path &file)
{
    std::error_code error;
    return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

fs::path cacheFolder()
{
    if (const std::string own = variable("SLIPWAY_CACHE"); !own.empty())
        return own;
    const std::string cache = variable("XDG_CACHE_HOME");
    return (cache.empty() ? fs::path(variable("HOME")) / ".cache" : fs::path(cache)) / "slipway";
}

} // namespace

Result<fs::path> findPrometheus(const fs::path &ownProgram)
{
    constexpr const char *advice = "install it (the Debian package is 'prometheus'; its service need not "
                                   "run), or run './dev setup', then start the local target again";
    if (const std::string named = variable("SLIPWAY_PROMETHEUS"); !named.empty()) {
        if (isProgram(named))
            return fs::path(named);
        return fail(ErrorCode::FailedPrecondition,
                    "$SLIPWAY_PROMETHEUS names " + named + ", which is no program; unset it or " + advice);
    }
    std::vector<fs::path> places{(ownProgram.parent_path() / "../libexec/slipway").lexically_normal(),
                                 cacheFolder() / "prometheus"};
    std::string path = variable("PATH") + ":/usr/bin";
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        if (end > begin && path[begin] == '/')
            places.emplace_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    for (const fs::path &place : places) {
        if (isProgram(place / "prometheus"))
            return place / "prometheus";
    }
    return fail(ErrorCode::FailedPrecondition,
                std::string("there is no Prometheus on this machine to collect and query metrics: ")
                    + advice);
}

} // namespace cluster::local
