#include "cluster/local/gcp/artifactregistry_service.h"

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <regex>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds kRepositoryTakes{8};
constexpr const char *kMetadataType
    = "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata";
constexpr const char *kRepositoryType = "type.googleapis.com/google.devtools.artifactregistry.v1.Repository";

bool isLocation(const std::string &name)
{
    return name == "us" || name == "europe" || name == "asia" || ComputeCatalog::builtIn().hasRegion(name);
}

GoogleStatus checkRepository(const std::string &id, const json &body)
{
    static const std::regex form("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");
    static const std::set<std::string> formats{"DOCKER", "MAVEN", "NPM", "APT",     "YUM",
                                               "PYTHON", "KFP",   "GO",  "GENERIC", "GOOGET"};
    if (!std::regex_match(id, form))
        return googleFail(ErrorCode::InvalidArgument,
                          "invalid repository_id \"" + id
                              + "\": it must be at most 63 lowercase letters, digits and hyphens, begin with "
                                "a letter, and not end with a hyphen");
    const std::string format = body.value("format", std::string());
    if (!formats.contains(format))
        return googleFail(ErrorCode::InvalidArgument, "invalid repository format: \"" + format + "\"");
    return {};
}

json shown(const json &stored)
{
    json repository = stored;
    repository.erase("availableAt");
    return repository;
}

tl::unexpected<GoogleError> notFound()
{
    return googleFail(ErrorCode::NotFound, "Requested entity was not found.");
}

} // namespace

ArtifactRegistryService::ArtifactRegistryService(GcpContext &context)
    : m_context(context), m_projects(context), m_apis(context), m_policies(context),
      m_operations(context, "artifactregistry")
{
}

ServerResponse ArtifactRegistryService::handle(const ServerRequest &request,
                                               std::span<const std::string> path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return errorResponse(body.error());
}

GoogleResult<json> ArtifactRegistryService::answer(const ServerRequest &request,
                                                   std::span<const std::string> path)
{
    const json unknown(json::value_t::discarded);
    if (path.size() < 4 || !path[0].starts_with("v1") || path[1] != "projects" || path[3] != "locations")
        return unknown;
    auto project = m_projects.require(path[2]);
    if (!project)
        return tl::unexpected(project.error());
    if (const auto enabled = m_apis.require(*project, "artifactregistry.googleapis.com"); !enabled)
        return tl::unexpected(enabled.error());
    Place place{*project, path.size() > 4 ? path[4] : "-", {}};
    place.parent = "projects/" + project->id + "/locations/" + place.location;
    if (path.size() == 4)
        return locations(place);
    if (path.size() < 6)
        return unknown;
    if (place.location != "-" && !isLocation(place.location))
        return googleFail(ErrorCode::InvalidArgument,
                          "invalid location: \"" + place.location
                              + "\" is no region and none of us, europe, asia");
    if (path[5] == "operations" && path.size() == 7 && request.method == "GET")
        return m_operations.get(place.parent + "/operations/" + path[6]);
    if (path[5] != "repositories")
        return unknown;
    if (path.size() == 6)
        return request.method == "POST" ? create(request, place) : list(request, place);
    if (path.size() == 7)
        return repository(request, place, path[6]);
    // What is in a repository: nothing, ever.
    if (path.size() == 8 && request.method == "GET") {
        auto found = find(place.parent + "/repositories/" + path[6]);
        return found ? GoogleResult<json>(json::object()) : found;
    }
    return unknown;
}

GoogleResult<json> ArtifactRegistryService::create(const ServerRequest &request, const Place &place)
{
    const json body = bodyOf(request);
    const std::string id = request.queryValue("repositoryId").value_or("");
    if (const auto valid = checkRepository(id, body); !valid)
        return tl::unexpected(valid.error());
    const std::string name = place.parent + "/repositories/" + id;
    const auto there = m_context.documents.get("artifactregistry/" + name);
    if (!there)
        return tl::unexpected(toGoogleError(there.error()));
    if (*there)
        return googleFail(ErrorCode::AlreadyExists, "the repository already exists");

    const OperationPlan plan = m_operations.plan("CREATE_REPOSITORY", place.location, kRepositoryTakes);
    json stored = body;
    stored["name"] = name;
    const std::string mode = body.value("mode", std::string("MODE_UNSPECIFIED"));
    stored["mode"] = mode == "MODE_UNSPECIFIED" ? "STANDARD_REPOSITORY" : mode;
    stored["createTime"] = rfc3339(m_context.now(), 6);
    stored["updateTime"] = stored["createTime"];
    stored["availableAt"] = plan.endsAt;
    if (!plan.failure) {
        const auto written = m_context.documents.create("artifactregistry/" + name, stored);
        if (!written && written.error().code == ErrorCode::AlreadyExists)
            return googleFail(ErrorCode::AlreadyExists, "the repository already exists");
        if (!written)
            return tl::unexpected(toGoogleError(written.error()));
    }
    json response = shown(stored);
    response["@type"] = kRepositoryType;
    return m_operations.start(place.parent + "/operations/" + randomUuid(), plan, {{"@type", kMetadataType}},
                              response);
}

GoogleResult<json> ArtifactRegistryService::list(const ServerRequest &request, const Place &place)
{
    const auto page = pageOf(request, "pageSize", 100, 1000);
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid page token.");
    const bool everywhere = place.location == "-";
    const std::string prefix = "artifactregistry/projects/" + place.project.id + "/locations/"
        + (everywhere ? std::string() : place.location + "/");
    const auto documents = m_context.documents.list(prefix, page->after);
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    json repositories = json::array();
    std::string last;
    for (const Document &document : *documents) {
        if (!m_operations.isOver(document.value.value("availableAt", std::int64_t{0})))
            continue;
        if (repositories.size() == page->size)
            return json{{"repositories", std::move(repositories)}, {"nextPageToken", pageTokenAfter(last)}};
        repositories.push_back(shown(document.value));
        last = document.key;
    }
    return repositories.empty() ? json::object() : json{{"repositories", std::move(repositories)}};
}

GoogleResult<json> ArtifactRegistryService::find(const std::string &name) const
{
    const auto document = m_context.documents.get("artifactregistry/" + name);
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document || !m_operations.isOver((*document)->value.value("availableAt", std::int64_t{0})))
        return notFound();
    return shown((*document)->value);
}

GoogleResult<json> ArtifactRegistryService::repository(const ServerRequest &request, const Place &place,
                                                       const std::string &segment)
{
    const auto colon = segment.find(':');
    const std::string name = place.parent + "/repositories/" + segment.substr(0, colon);
    const std::string verb = colon == std::string::npos ? std::string() : segment.substr(colon + 1);
    auto found = find(name);
    if (!found)
        return found;
    if (verb == "getIamPolicy")
        return m_policies.get(name, requestedPolicyVersion(request));
    if (verb == "setIamPolicy" && request.method == "POST")
        return m_policies.set(name, bodyOf(request).value("policy", json::object()));
    if (!verb.empty())
        return json(json::value_t::discarded);
    if (request.method == "GET")
        return found;
    if (request.method == "PATCH")
        return patch(request, name);
    if (request.method == "DELETE")
        return remove(place, name);
    return json(json::value_t::discarded);
}

GoogleResult<json> ArtifactRegistryService::patch(const ServerRequest &request, const std::string &name)
{
    json fields = bodyOf(request);
    for (const char *fixed : {"name", "format", "mode", "createTime"})
        fields.erase(fixed);
    fields["updateTime"] = rfc3339(m_context.now(), 6);
    const auto written = m_context.documents.update("artifactregistry/" + name, [&](json &value) -> Status {
        value.update(fields);
        return {};
    });
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    return shown(written->value);
}

GoogleResult<json> ArtifactRegistryService::remove(const Place &place, const std::string &name)
{
    const OperationPlan plan = m_operations.plan("DELETE_REPOSITORY", place.location, kRepositoryTakes);
    if (!plan.failure) {
        if (const auto gone = m_policies.remove(name); !gone)
            return tl::unexpected(gone.error());
        const Status removed = m_context.documents.remove("artifactregistry/" + name);
        if (!removed)
            return removed.error().code == ErrorCode::NotFound
                ? notFound()
                : tl::unexpected(toGoogleError(removed.error()));
    }
    return m_operations.start(place.parent + "/operations/" + randomUuid(), plan, {{"@type", kMetadataType}},
                              {{"@type", "type.googleapis.com/google.protobuf.Empty"}});
}

json ArtifactRegistryService::locations(const Place &place) const
{
    json list = json::array();
    const auto add = [&](const std::string &id) {
        list.push_back({{"name", "projects/" + place.project.id + "/locations/" + id},
                        {"locationId", id},
                        {"displayName", id}});
    };
    for (const auto &[region, zones] : ComputeCatalog::builtIn().regions())
        add(region);
    for (const char *multi : {"asia", "europe", "us"})
        add(multi);
    return {{"locations", std::move(list)}};
}

} // namespace cluster::local
