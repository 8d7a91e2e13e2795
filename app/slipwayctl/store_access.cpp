#include "app/slipwayctl/store_access.h"

#include "app/slipwayctl/keyring.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace slipwayctl {

using cluster::ErrorCode;

namespace {

std::string environment(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

std::string trimmed(const std::string &text)
{
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

} // namespace

std::optional<cluster::ModelStore> openStore(CommandContext &context)
{
    cluster::Result<cluster::ModelCatalogue> catalogue = cluster::ModelCatalogue::builtIn();
    if (!catalogue) {
        report(context, catalogue.error());
        return std::nullopt;
    }
    return cluster::ModelStore(cluster::defaultModelFolder(), std::move(*catalogue));
}

cluster::Result<std::string> readSecret(const std::string &path)
{
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return cluster::fail(ErrorCode::NotFound, "can't read the secret in " + path + ": check the path");
    if ((status.st_mode & 077U) != 0)
        return cluster::fail(ErrorCode::FailedPrecondition,
                             path + " holds a secret, but others may read it: chmod 600 " + path);
    std::ifstream file(path);
    return trimmed(std::string(std::istreambuf_iterator<char>(file), {}));
}

cluster::Result<cluster::HubAccess> hubAccess(const CommandContext &context, const std::string &baseUrl)
{
    cluster::HubAccess access;
    if (!baseUrl.empty())
        access.baseUrl = baseUrl;
    while (access.baseUrl.ends_with('/'))
        access.baseUrl.pop_back();
    access.token = trimmed(environment("HF_TOKEN"));
    if (access.token.empty())
        access.token = secretFromKeyring(context.programPath, "huggingface");
    const std::string path = environment("HF_TOKEN_PATH");
    if (access.token.empty() && !path.empty()) {
        cluster::Result<std::string> token = readSecret(path);
        if (!token)
            return tl::unexpected(token.error());
        access.token = std::move(*token);
    }
    return access;
}

} // namespace slipwayctl
