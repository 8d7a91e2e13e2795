#include "cluster/local/daemon/local_paths.h"

#include "cluster/local/files/whole_files.h"

#include <cstdlib>
#include <sys/un.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

} // namespace

Result<LocalPaths> localPaths(const std::string &given)
{
    fs::path root = given.empty() ? variable("SLIPWAY_LOCAL_DIR") : given;
    if (root.empty()) {
        fs::path data = variable("XDG_DATA_HOME");
        if (!data.is_absolute()) {
            const std::string home = variable("HOME");
            if (home.empty())
                return fail(ErrorCode::FailedPrecondition,
                            "neither HOME nor SLIPWAY_LOCAL_DIR says where the local target is kept");
            data = fs::path(home) / ".local/share";
        }
        root = data / "slipway" / "local";
    }
    LocalPaths paths{fs::absolute(root).lexically_normal()};
    // The longest socket: clusters/<16 digits>/run/egress.sock, and room for one of a pod.
    constexpr std::size_t below = 70;
    if (paths.root.string().size() + below > sizeof(sockaddr_un::sun_path))
        return fail(ErrorCode::FailedPrecondition,
                    "the folder " + paths.root.string()
                        + " has too long a path for Unix sockets: name a shorter one with SLIPWAY_LOCAL_DIR");
    return paths;
}

Status makeFolders(const LocalPaths &paths)
{
    for (const fs::path &folder :
         {paths.root, paths.run(), paths.tls(), paths.buckets(), paths.clusters(), paths.gcloudConfig()}) {
        Status made = makePrivateFolder(folder);
        if (!made && made.error().code == ErrorCode::FailedPrecondition)
            made.error().message += ": name another one with SLIPWAY_LOCAL_DIR";
        if (!made)
            return made;
    }
    return {};
}

} // namespace cluster::local
