#include "cluster/local/nodeagent/engine_group.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace cluster::local {

namespace {

constexpr const char *scriptName = "multi-node-serving.sh";
constexpr int largestGroup = 1024;

/// The value of `--NAME=VALUE`: the script knows no other form.
std::optional<std::string> valueOf(const std::vector<std::string> &words, std::string_view name)
{
    const std::string prefix = "--" + std::string(name) + "=";
    std::optional<std::string> value;
    for (const std::string &word : words) {
        if (word.starts_with(prefix))
            value = word.substr(prefix.size());
    }
    return value;
}

Status readNumber(const std::vector<std::string> &words, const char *name, int most, int &number)
{
    const auto text = valueOf(words, name);
    if (!text)
        return {};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc() || end != text->data() + text->size() || number < 1 || number > most)
        return fail(ErrorCode::InvalidArgument,
                    std::string(scriptName) + ": --" + name + "=" + *text + " is not a number from 1 to "
                        + std::to_string(most));
    return {};
}

/// \param words  what follows the script's name
Result<MultiNodeCall> readCall(const std::vector<std::string> &words)
{
    MultiNodeCall call;
    const std::string role = words.empty() ? std::string() : words.front();
    if (role != "leader" && role != "worker")
        return fail(ErrorCode::InvalidArgument, std::string(scriptName) + ": unknown subcommand: " + role);
    call.role = role == "leader" ? MultiNodeCall::Role::Leader : MultiNodeCall::Role::Worker;
    call.leader = valueOf(words, "ray_address").value_or("");
    for (const auto &[name, most, number] :
         {std::tuple{"ray_cluster_size", largestGroup, &call.size}, std::tuple{"ray_port", 65535, &call.port},
          std::tuple{"ray_init_timeout", 86400, &call.timeoutSeconds}}) {
        if (const Status read = readNumber(words, name, most, *number); !read)
            return tl::unexpected(read.error());
    }
    if (call.role == MultiNodeCall::Role::Leader && call.size == 0)
        return fail(ErrorCode::InvalidArgument, "Error: Missing argument --ray_cluster_size");
    if (call.role == MultiNodeCall::Role::Worker && call.leader.empty())
        return fail(ErrorCode::InvalidArgument, "Error: Missing argument --ray_address");
    return call;
}

} // namespace

Result<std::optional<MultiNodeCall>> multiNodeCall(const std::vector<std::vector<std::string>> &commands)
{
    for (const std::vector<std::string> &words : commands) {
        // `bash SCRIPT ...` or `SCRIPT ...`
        for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 2); ++i) {
            if (std::filesystem::path(words[i]).filename() != scriptName)
                continue;
            auto call = readCall({words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()});
            if (!call)
                return tl::unexpected(call.error());
            return std::optional(std::move(*call));
        }
    }
    return std::optional<MultiNodeCall>();
}

std::vector<std::string> groupWorkers(const std::string &leader, int size, int port)
{
    const std::size_t dot = std::min(leader.find('.'), leader.size());
    std::vector<std::string> workers;
    for (int i = 1; i < size; ++i)
        workers.push_back(leader.substr(0, dot) + "-" + std::to_string(i) + leader.substr(dot) + ":"
                          + std::to_string(port));
    return workers;
}

std::string groupToken(const std::string &secret, const std::string &nameSpace, const std::string &leader)
{
    const std::string text = nameSpace + "/" + leader;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(), &size);
    constexpr const char *digits = "0123456789abcdef";
    std::string token;
    for (unsigned int i = 0; i < size; ++i) {
        token += digits[digest[i] >> 4U];
        token += digits[digest[i] & 15U];
    }
    return token;
}

} // namespace cluster::local
