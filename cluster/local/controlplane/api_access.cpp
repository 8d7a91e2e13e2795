#include "cluster/local/controlplane/api_access.h"

#include "cluster/local/files/whole_files.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace cluster::local {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds probeLimit{3};
constexpr const char *contentAnnotation = "slipway/definition-content";

/// "ray.io" and "rayclusters" of "ray.io_rayclusters.yaml", as controller-gen names its files.
std::pair<std::string, std::string> groupAndPlural(const fs::path &file)
{
    const std::string stem = file.stem().string();
    const std::size_t split = stem.find('_');
    return {stem.substr(0, split), split == std::string::npos ? std::string() : stem.substr(split + 1)};
}

std::vector<fs::path> definitionFiles(const fs::path &folder)
{
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".yaml" && !groupAndPlural(entry.path()).second.empty())
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Tells a changed file from an unchanged one; nothing secret hangs on it.
std::string contentMark(const std::string &text)
{
    return std::to_string(std::hash<std::string>{}(text)) + "-" + std::to_string(text.size());
}

std::string markOf(const std::string &metadataBody)
{
    const json answer = json::parse(metadataBody, nullptr, false);
    if (!answer.is_object())
        return {};
    const json metadata = answer.value("metadata", json::object());
    if (!metadata.is_object())
        return {};
    const json annotations = metadata.value("annotations", json::object());
    const auto found = annotations.find(contentAnnotation);
    return annotations.is_object() && found != annotations.end() && found->is_string()
        ? found->get<std::string>()
        : std::string();
}

} // namespace

ApiAccess::ApiAccess(ControlPlaneEndpoint endpoint) : m_endpoint(std::move(endpoint)) {}

Result<HttpResponse> ApiAccess::call(HttpRequest request, const Deadline &deadline)
{
    request.url = m_endpoint.url + request.url;
    request.headers.push_back({"Authorization", "Bearer " + m_endpoint.adminToken});
    HttpOptions options;
    options.caFile = m_endpoint.caFile.string();
    options.deadline = deadline;
    return m_http.send(request, options);
}

bool ApiAccess::answers(const std::string &path)
{
    HttpRequest request;
    request.url = path;
    const auto response = call(std::move(request), Deadline::after(probeLimit));
    return response && response->status == 200;
}

Status ApiAccess::applyDefinitions(const fs::path &folder, const Deadline &deadline)
{
    const std::vector<fs::path> files = definitionFiles(folder);
    if (files.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "no definitions of Ray's kinds in " + folder.string() + "; get them with `./dev setup`");
    for (const fs::path &file : files) {
        if (auto applied = applyDefinition(file, deadline); !applied)
            return applied;
    }
    return {};
}

std::vector<std::string> ApiAccess::listPaths(const fs::path &folder)
{
    std::vector<std::string> paths;
    for (const fs::path &file : definitionFiles(folder)) {
        const auto [group, plural] = groupAndPlural(file);
        paths.push_back("/apis/" + group + "/v1/" + plural);
    }
    return paths;
}

Status ApiAccess::applyDefinition(const fs::path &file, const Deadline &deadline)
{
    auto text = readWholeFile(file);
    if (!text)
        return tl::unexpected(text.error());
    const auto [group, plural] = groupAndPlural(file);
    const std::string path
        = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + "." + group;
    const std::string mark = contentMark(*text);

    HttpRequest look;
    look.url = path;
    look.headers = {{"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}};
    const auto present = call(std::move(look), deadline);
    if (present && present->status == 200 && markOf(present->body) == mark)
        return {};

    HttpRequest apply;
    apply.method = "PATCH";
    apply.url = path + "?fieldManager=slipway&force=true";
    apply.headers = {{"Content-Type", "application/apply-patch+yaml"},
                     {"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}};
    apply.body = std::move(*text);
    const auto applied = call(std::move(apply), deadline);
    if (!applied)
        return tl::unexpected(applied.error());
    if (applied->status != 200 && applied->status != 201)
        return fail(ErrorCode::FailedPrecondition,
                    "the API server did not take the definition in " + file.string() + ": HTTP "
                        + std::to_string(applied->status) + " " + applied->body.substr(0, 400));

    HttpRequest annotate; // after the whole was taken: half a file must not look like a finished one
    annotate.method = "PATCH";
    annotate.url = path + "?fieldManager=slipway-mark";
    annotate.headers = {{"Content-Type", "application/merge-patch+json"},
                        {"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}};
    annotate.body = json{{"metadata", {{"annotations", {{contentAnnotation, mark}}}}}}.dump();
    const auto annotated = call(std::move(annotate), deadline);
    return annotated ? Status{} : Status(tl::unexpected(annotated.error()));
}

} // namespace cluster::local
