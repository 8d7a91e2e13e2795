#include "cluster/local/nodeagent/ray_command.h"

#include <algorithm>
#include <cctype>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

/// The words after `ray start` or `ray health-check` in one simple command, with that word first. `if ray …`
/// is one too.
std::vector<std::string> rayWords(const std::vector<std::string> &words)
{
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const bool isRay = fs::path(words[i]).filename() == "ray";
        if (isRay && (words[i + 1] == "start" || words[i + 1] == "health-check"))
            return {words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()};
    }
    return {};
}

std::vector<std::string> findRayWords(const RayCommandInput &input)
{
    std::vector<std::string> all = input.command;
    all.insert(all.end(), input.args.begin(), input.args.end());
    const bool isScript = std::find(all.begin(), all.end(), "-c") != all.end()
        || std::find(all.begin(), all.end(), "-lc") != all.end()
        || std::find(all.begin(), all.end(), "-cl") != all.end();
    for (const std::string &script : all) {
        if (!isScript)
            break;
        for (const auto &words : shellCommands(script, input.variable)) {
            if (auto found = rayWords(words); !found.empty())
                return found;
        }
    }
    return rayWords(all);
}

} // namespace

Result<std::vector<std::string>> rayCommand(const RayCommandInput &input)
{
    const std::vector<std::string> found = findRayWords(input);
    if (found.empty())
        return fail(ErrorCode::InvalidArgument, "there is no `ray start` in the container's command");
    std::vector<std::string> words{input.program.string()};
    if (found.front() == "health-check") {
        words.emplace_back("health-check");
        words.insert(words.end(), found.begin() + 1, found.end());
        words.emplace_back("--wait");
        return words;
    }
    const bool isHead = std::find(found.begin(), found.end(), "--head") != found.end();
    words.emplace_back(isHead ? "head" : "worker");
    words.insert(words.end(), found.begin() + 1, found.end());
    words.push_back("--node-ip-address=" + input.address);
    return words;
}

std::string rayVersionOfImage(const std::string &image)
{
    const std::size_t slash = image.rfind('/');
    const std::size_t colon = image.find(':', slash == std::string::npos ? 0 : slash);
    if (colon == std::string::npos)
        return {};
    std::string version = image.substr(colon + 1);
    version.resize(static_cast<std::size_t>(
        std::find_if(version.begin(), version.end(),
                     [](unsigned char c) { return std::isdigit(c) == 0 && c != '.'; })
        - version.begin()));
    return std::count(version.begin(), version.end(), '.') == 2 && version.back() != '.' ? version
                                                                                         : std::string();
}

void removeRayVariables(Environment &environment)
{
    std::erase_if(environment,
                  [](const auto &variable) { return variable.first.starts_with("SLIPWAY_RAY_"); });
}

std::vector<std::string> withOwnLocalhost(std::vector<std::string> words, const std::string &address)
{
    constexpr std::string_view local = "://localhost:";
    const std::string own = "://" + address + ":";
    for (std::string &word : words) {
        for (std::size_t at = word.find(local); at != std::string::npos;
             at = word.find(local, at + own.size()))
            word.replace(at, local.size(), own);
    }
    return words;
}

} // namespace cluster::local
