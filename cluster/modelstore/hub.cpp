#include "cluster/modelstore/hub.h"

#include "cluster/modelstore/hub_download.h"
#include "cluster/net/http_client.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace cluster {

namespace {

using Json = nlohmann::json;

std::string lowerCase(std::string_view text)
{
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

bool isName(std::string_view text)
{
    return !text.empty() && text != "." && text != ".." && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '_' || c == '-';
    });
}

std::string percentEncoded(std::string_view path)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos) {
            text += c;
            continue;
        }
        text += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
    return text;
}

/// "name-00001-of-00003.gguf": one piece of a model in several files.
bool isSplit(std::string_view path)
{
    const std::size_t of = path.rfind("-of-");
    return of != std::string_view::npos && of >= 6 && path[of - 6] == '-';
}

HubFile fileOf(const Json &item)
{
    HubFile file;
    file.path = item.value("path", "");
    file.bytes = item.value("size", std::uint64_t{0});
    if (const auto lfs = item.find("lfs"); lfs != item.end() && lfs->is_object()) {
        file.sha256 = lfs->value("oid", "");
        file.bytes = lfs->value("size", file.bytes);
    }
    return file;
}

/// Vision projectors are no models of their own.
bool isModelFile(const std::string &path)
{
    const std::string lower = lowerCase(path);
    return lower.ends_with(".gguf") && lower.find("mmproj") == std::string::npos;
}

Result<HubFile> chosen(std::vector<HubFile> files, const HubReference &reference)
{
    const std::string repository = reference.owner + "/" + reference.repository;
    std::string names;
    for (const HubFile &file : files)
        names += (names.empty() ? "" : ", ") + file.path;
    if (files.empty())
        return fail(ErrorCode::NotFound,
                    repository + " has no GGUF file: look for a repository whose name ends in GGUF");
    const std::string wish
        = lowerCase(reference.wanted.empty() && files.size() > 1 ? "q4_k_m" : reference.wanted);
    const auto exact = std::ranges::find(files, reference.wanted, &HubFile::path);
    if (exact != files.end())
        return *exact;
    std::erase_if(files,
                  [&](const HubFile &file) { return lowerCase(file.path).find(wish) == std::string::npos; });
    if (files.size() == 1)
        return files.front();
    if (!files.empty() && std::ranges::all_of(files, [](const HubFile &file) { return isSplit(file.path); }))
        return fail(ErrorCode::Unimplemented,
                    repository
                        + " has this model in several files, which is not supported: "
                          "choose a smaller one of "
                        + names);
    return fail(ErrorCode::InvalidArgument,
                repository + " has more than one GGUF file: name one, as in hf:" + repository
                    + ":FILE; there are " + names);
}

std::string licenceOf(const Json &model)
{
    if (const auto card = model.find("cardData"); card != model.end() && card->is_object()) {
        if (const auto licence = card->find("license"); licence != card->end() && licence->is_string())
            return licence->get<std::string>();
    }
    constexpr std::string_view prefix = "license:";
    if (const auto tags = model.find("tags"); tags != model.end() && tags->is_array()) {
        for (const Json &tag : *tags) {
            if (tag.is_string() && tag.get<std::string>().starts_with(prefix))
                return tag.get<std::string>().substr(prefix.size());
        }
    }
    return {};
}

} // namespace

Result<HubReference> parseHubReference(const std::string &text)
{
    HubReference reference;
    std::string rest = text.starts_with("hf:") ? text.substr(3) : text;
    if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
        reference.wanted = rest.substr(colon + 1);
        rest.erase(colon);
    }
    if (const std::size_t at = rest.find('@'); at != std::string::npos) {
        reference.revision = rest.substr(at + 1);
        rest.erase(at);
    }
    const std::size_t slash = rest.find('/');
    reference.owner = rest.substr(0, slash);
    reference.repository = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (!isName(reference.owner) || !isName(reference.repository) || reference.revision.empty())
        return fail(ErrorCode::InvalidArgument,
                    "'" + text
                        + "' is not a model on Hugging Face: write hf:OWNER/NAME, hf:OWNER/NAME:FILE or "
                          "hf:OWNER/NAME@REVISION");
    return reference;
}

HubClient::HubClient(HttpClient &http, const HubAccess &access, CancelToken cancel)
    : m_http(http), m_access(access), m_cancel(std::move(cancel))
{
}

std::vector<std::pair<std::string, std::string>> HubClient::headers() const
{
    if (m_access.token.empty())
        return {};
    return {{"Authorization", "Bearer " + m_access.token}};
}

Error HubClient::refusal(int status, std::string_view errorCode, const std::string &repository) const
{
    const std::string page = m_access.baseUrl + "/" + repository;
    const std::string host = hostOfUrl(m_access.baseUrl);
    const bool isGated = errorCode == "GatedRepo" || (status == 403 && errorCode.empty());
    if (isGated && m_access.token.empty())
        return {ErrorCode::PermissionDenied,
                repository + " is behind a licence gate: accept its licence at " + page
                    + ", then give your access token (HF_TOKEN, or a token file)"};
    if (isGated)
        return {ErrorCode::PermissionDenied,
                repository
                    + " is behind a licence gate that your account has not passed: "
                      "accept its licence at "
                    + page + ", then pull again"};
    if (status == 401 && !m_access.token.empty() && errorCode != "RepoNotFound")
        return {ErrorCode::Unauthenticated,
                host + " does not accept your access token for " + repository
                    + ": make a new one, with the right to read"};
    if (status == 404 && (errorCode == "EntryNotFound" || errorCode == "RevisionNotFound"))
        return {ErrorCode::NotFound, repository + " has no such file or revision: see " + page};
    if (status == 401 || status == 404)
        return {ErrorCode::NotFound,
                host + " has no repository " + repository
                    + ", or it is private: check its name, or give an access token (HF_TOKEN)"};
    if (status == 429 || status == 503)
        return {ErrorCode::Unavailable,
                host + " is busy (" + std::to_string(status) + "): try again later; what has come is kept"};
    return {ErrorCode::Unknown,
            host + " answered " + std::to_string(status) + " for " + repository + ": try again later"};
}

Result<Json> HubClient::getJson(const std::string &path, const HubReference &reference)
{
    HttpRequest request;
    request.url = m_access.baseUrl + path;
    for (const auto &[name, value] : headers())
        request.headers.push_back({name, value});
    HttpOptions options;
    options.cancel = m_cancel;
    options.idleTimeout = std::chrono::seconds(30);
    options.followRedirects = true;
    const Result<HttpResponse> response = m_http.send(request, options);
    if (!response)
        return tl::unexpected(response.error());
    if (response->status != 200)
        return tl::unexpected(refusal(response->status, response->header("x-error-code").value_or(""),
                                      reference.owner + "/" + reference.repository));
    Json json = Json::parse(response->body, nullptr, false);
    if (json.is_discarded())
        return fail(ErrorCode::DataLoss,
                    hostOfUrl(request.url) + " answered something else than JSON: is there a proxy between?");
    return json;
}

Result<HubFile> HubClient::choose(const HubReference &reference)
{
    const std::string api = "/api/models/" + reference.owner + "/" + reference.repository;
    const std::string revision = percentEncoded(reference.revision);
    const Result<Json> model = getJson(api + "/revision/" + revision, reference);
    if (!model)
        return tl::unexpected(model.error());
    try {
        const std::string commit
            = model->is_object() ? model->value("sha", reference.revision) : reference.revision;
        const Result<Json> tree
            = getJson(api + "/tree/" + percentEncoded(commit) + "?recursive=true", reference);
        if (!tree)
            return tl::unexpected(tree.error());
        std::vector<HubFile> files;
        for (const Json &item : *tree) {
            if (item.is_object() && item.value("type", "") == "file" && isModelFile(item.value("path", "")))
                files.push_back(fileOf(item));
        }
        Result<HubFile> file = chosen(std::move(files), reference);
        if (!file)
            return file;
        file->owner = reference.owner;
        file->repository = reference.repository;
        file->revision = commit;
        file->licence = model->is_object() ? licenceOf(*model) : "";
        return file;
    } catch (const Json::exception &exception) {
        return fail(ErrorCode::DataLoss,
                    "the list of files of " + reference.owner + "/" + reference.repository
                        + " can't be read: " + exception.what());
    }
}

Result<std::string> HubClient::download(const HubFile &file, const std::filesystem::path &target,
                                        const PullOptions &options)
{
    HubDownload download;
    const std::string repository = file.owner + "/" + file.repository;
    download.url = m_access.baseUrl + "/" + repository + "/resolve/" + percentEncoded(file.revision) + "/"
        + percentEncoded(file.path);
    download.headers = headers();
    download.bytes = file.bytes;
    download.sha256 = file.sha256;
    download.refusal = [&](int status, std::string_view code) { return refusal(status, code, repository); };
    return fetchWithResume(m_http, download, target, options);
}

} // namespace cluster
