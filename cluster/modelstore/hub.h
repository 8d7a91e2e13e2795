#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/model_store.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// "hf:owner/name[@revision][:file or quantisation]", parsed.
struct HubReference
{
    std::string owner;
    std::string repository;
    std::string revision = "main";
    std::string
        wanted; ///< a file's path, or a part of its name as "Q4_K_M"; empty: the best of what there is
};

/// Errors: InvalidArgument.
Result<HubReference> parseHubReference(const std::string &text);

/// One GGUF file of a repository, at a fixed commit.
struct HubFile
{
    std::string owner;
    std::string repository;
    std::string revision; ///< commit id
    std::string path;
    std::uint64_t bytes = 0;
    std::string sha256; ///< as the hub states it; empty where it states none
    std::string licence;
};

/// Hugging Face over its HTTP interface: what files a repository has, and one of them, with resume.
///
/// Errors: NotFound (repository, file), PermissionDenied (licence gate: the text says where to accept it),
/// Unauthenticated (token missing or refused), DataLoss (SHA-256), ResourceExhausted (disk), those of
/// HttpClient.
class HubClient
{
public:
    HubClient(HttpClient &http, const HubAccess &access, CancelToken cancel);

    /// The file that `reference` means. Without a wish: the only GGUF file, or the Q4_K_M one of several.
    Result<HubFile> choose(const HubReference &reference);

    /// Gets `file` to `target`; goes on behind what an interrupted try left there. Returns its SHA-256.
    Result<std::string> download(const HubFile &file, const std::filesystem::path &target,
                                 const PullOptions &options);

private:
    Result<nlohmann::json> getJson(const std::string &path, const HubReference &reference);
    Error refusal(int status, std::string_view errorCode, const std::string &repository) const;
    std::vector<std::pair<std::string, std::string>> headers() const;

    HttpClient &m_http;
    const HubAccess &m_access;
    CancelToken m_cancel;
};

} // namespace cluster
