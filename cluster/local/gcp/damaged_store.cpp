#include "cluster/local/gcp/damaged_store.h"

#include <filesystem>
#include <sys/stat.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr const char *kLog = "-wal";

/// Returns where the copy is, or nothing.
std::string keepAside(const std::string &path)
{
    struct stat facts
    {
    };
    if (::stat(path.c_str(), &facts) != 0)
        return {};
    std::string aside = path + ".damaged-" + std::to_string(facts.st_mtime);
    std::error_code error;
    if (fs::exists(aside, error))
        return aside;
    for (const char *part : {kLog, ""}) { // the main file last: with it all is there
        if (!fs::exists(path + part, error))
            continue;
        if (!fs::copy_file(path + part, aside + part, fs::copy_options::overwrite_existing, error))
            return {};
    }
    return aside;
}

} // namespace

std::string visibleDamage(const std::string &path)
{
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error || size != 0)
        return {};
    const auto log = fs::file_size(path + kLog, error);
    return !error && log > 0 ? "it is empty, but has a log" : "";
}

tl::unexpected<Error> damagedStore(const std::string &path, const std::string &why)
{
    const std::string aside = keepAside(path);
    return fail(ErrorCode::DataLoss,
                "the local target's state in " + path + " is damaged (" + why + "). "
                    + (aside.empty() ? "It could not be copied: keep a copy of it if you need one."
                                     : "A copy is kept in " + aside + ".")
                    + " 'slipwayctl local reset --yes' starts anew, without clusters, buckets and projects.");
}

} // namespace cluster::local
