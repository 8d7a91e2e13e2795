#include "cluster/local/controlplane/control_plane_programs.h"

#include "cluster/local/files/whole_files.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unistd.h>

namespace cluster::local {
namespace {

namespace fs = std::filesystem;

std::string environment(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value != nullptr ? value : "";
}

fs::path userCache()
{
    if (const std::string own = environment("SLIPWAY_CACHE"); !own.empty())
        return own;
    const std::string cache = environment("XDG_CACHE_HOME");
    return (cache.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(cache)) / "slipway";
}

/// Builds of several recipes may lie there: the newest first.
std::vector<fs::path> cachedBuilds(const fs::path &root)
{
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(root, error)) {
        std::error_code entryError;
        const auto time = fs::last_write_time(entry.path() / "bin", entryError);
        if (!entryError)
            found.emplace_back(time, entry.path() / "bin");
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<fs::path> folders;
    folders.reserve(found.size());
    for (auto &build : found)
        folders.push_back(std::move(build.second));
    return folders;
}

std::vector<std::string> missingIn(const fs::path &folder, const std::vector<std::string> &names)
{
    std::vector<std::string> missing;
    for (const std::string &name : names) {
        if (::access((folder / name).c_str(), X_OK) != 0)
            missing.push_back(name);
    }
    return missing;
}

/// What packaging/setup/controlplane.sh does at the moment: "kube-apiserver (2 of 5): 300 packages". Empty:
/// nothing. It says something new every two seconds.
std::string buildProgress(const fs::path &root)
{
    constexpr std::chrono::seconds lately{30};
    std::error_code error;
    const auto written = fs::last_write_time(root / "status", error);
    if (error || fs::file_time_type::clock::now() - written > lately)
        return {};
    const auto text = readWholeFile(root / "status", 4096);
    const std::string line = text ? text->substr(0, text->find('\n')) : std::string();
    return line == "done" ? std::string() : line;
}

} // namespace

std::vector<fs::path> controlPlaneFolders(const fs::path &ownProgram)
{
    std::vector<fs::path> folders;
    if (!ownProgram.empty())
        folders.push_back((ownProgram.parent_path() / "../libexec/slipway").lexically_normal());
    if (const std::string set = environment("SLIPWAY_CONTROLPLANE_DIR"); !set.empty())
        folders.emplace_back(set);
    auto cached = cachedBuilds(userCache() / "controlplane");
    folders.insert(folders.end(), cached.begin(), cached.end());
    return folders;
}

std::vector<std::string> controlPlaneProgramNames(bool controllers, bool ray)
{
    std::vector<std::string> names{"etcd", "kube-apiserver"};
    if (controllers)
        names.insert(names.end(), {"kube-controller-manager", "kube-scheduler"});
    if (controllers && ray)
        names.emplace_back("kuberay-operator");
    return names;
}

Result<fs::path> findControlPlanePrograms(const std::vector<fs::path> &folders, bool controllers, bool ray)
{
    const auto names = controlPlaneProgramNames(controllers, ray);
    std::vector<std::string> fewestMissing = names;
    for (const fs::path &folder : folders) {
        const auto missing = missingIn(folder, names);
        if (missing.empty())
            return folder;
        if (missing.size() < fewestMissing.size())
            fewestMissing = missing;
    }
    std::string list;
    for (const std::string &name : fewestMissing)
        list += (list.empty() ? "" : ", ") + name;
    const std::string progress = buildProgress(userCache() / "controlplane");
    if (!progress.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "a local cluster needs the real control plane, which is still being built here (missing: "
                        + list + "; now: " + progress + ")");
    return fail(
        ErrorCode::FailedPrecondition,
        "a local cluster needs the real control plane, and these programs of it are not here: " + list
            + ". Get them with `./dev setup` in Slipway's source folder (about 20 minutes, once), or set "
              "SLIPWAY_CONTROLPLANE_DIR to a folder that has them");
}

} // namespace cluster::local
