#include "cluster/local/gcp/resourcemanager_service.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <regex>
#include <sstream>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds kCreateTakes{8};

tl::unexpected<GoogleError> denied()
{
    return googleFail(ErrorCode::PermissionDenied, "The caller does not have permission");
}

GoogleStatus checkId(const std::string &id)
{
    static const std::regex form("[a-z][a-z0-9-]{4,28}[a-z0-9]");
    if (std::regex_match(id, form))
        return {};
    json violation{{"field", "project_id"},
                   {"description",
                    "project_id contains invalid characters, or is not 6 to 30 lowercase letters, digits and "
                    "hyphens that begin with a letter and don't end with a hyphen"}};
    json detail{{"@type", "type.googleapis.com/google.rpc.BadRequest"},
                {"fieldViolations", json::array({std::move(violation)})}};
    return googleFail(ErrorCode::InvalidArgument, "Request contains an invalid argument.",
                      json::array({std::move(detail)}));
}

GoogleStatus checkName(const std::string &name)
{
    static const std::regex form("[A-Za-z0-9'\"! -]{4,30}");
    if (name.empty() || std::regex_match(name, form))
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      "field [display_name] has issue [the display name must be 4 to 30 letters, digits, "
                      "hyphens, quotes, blanks and exclamation points]");
}

/// "lifecycleState:ACTIVE", "id:x", "name:x*", "labels.k:v", several of them parted by blanks or AND.
bool matchesProject(const json &project, const std::string &filter)
{
    std::istringstream words(filter);
    for (std::string word; words >> word;) {
        const auto at = word.find_first_of(":=");
        if (word == "AND" || at == std::string::npos)
            continue;
        const std::string field = word.substr(0, at);
        std::string wanted = word.substr(at + 1);
        std::string value;
        if (field.starts_with("labels."))
            value = project.value("labels", json::object()).value(field.substr(7), std::string());
        else
            value = project.value(field == "id" ? "projectId" : field, std::string());
        const bool isPrefix = wanted.ends_with('*');
        if (isPrefix)
            wanted.pop_back();
        if (isPrefix ? !value.starts_with(wanted) : value != wanted)
            return false;
    }
    return true;
}

} // namespace

ResourceManagerService::ResourceManagerService(GcpContext &context)
    : m_projects(context), m_policies(context), m_operations(context, "crm")
{
}

void ResourceManagerService::start()
{
    static_cast<void>(m_projects.ensureFirst()); // a full disk tells the first who asks
    m_operations.sweep();
}

ServerResponse ResourceManagerService::handle(const ServerRequest &request, std::span<const std::string> path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return errorResponse(body.error());
}

GoogleResult<json> ResourceManagerService::answer(const ServerRequest &request,
                                                  std::span<const std::string> path)
{
    if (path.size() < 2 || path[0] != "v1")
        return json(json::value_t::discarded);
    if (path.size() == 2 && path[1] == "projects") {
        if (request.method == "POST")
            return create(request);
        return list(request);
    }
    if (path.size() == 3 && path[1] == "operations" && request.method == "GET")
        return m_operations.get("operations/" + path[2]);
    if (path.size() == 3 && path[1] == "projects")
        return one(request, path[2]);
    return json(json::value_t::discarded);
}

GoogleResult<Project> ResourceManagerService::visible(const std::string &idOrNumber) const
{
    auto found = m_projects.find(idOrNumber);
    if (!found)
        return tl::unexpected(found.error());
    // Also for what isn't there: Google doesn't tell strangers which projects exist.
    if (!*found)
        return denied();
    return std::move(**found);
}

GoogleResult<json> ResourceManagerService::one(const ServerRequest &request, const std::string &name)
{
    const auto colon = name.find(':');
    const auto project = visible(name.substr(0, colon));
    if (!project)
        return tl::unexpected(project.error());
    if (colon != std::string::npos)
        return verb(request, *project, name.substr(colon + 1));
    if (request.method == "GET")
        return project->resource;
    if (request.method == "PUT" || request.method == "PATCH") {
        const json body = bodyOf(request);
        json fields = json::object();
        for (const char *field : {"name", "labels"}) {
            if (body.contains(field))
                fields[field] = body[field];
        }
        const auto updated = m_projects.update(*project, fields);
        if (!updated)
            return tl::unexpected(updated.error());
        return updated->resource;
    }
    if (request.method != "DELETE")
        return json(json::value_t::discarded);
    if (project->resource.value("lifecycleState", std::string()) != "ACTIVE")
        return googleFail(ErrorCode::FailedPrecondition, "The project is marked for deletion already.");
    if (const auto marked = m_projects.setState(*project, "DELETE_REQUESTED"); !marked)
        return tl::unexpected(marked.error());
    return json::object();
}

GoogleResult<json> ResourceManagerService::verb(const ServerRequest &request, const Project &project,
                                                const std::string &verb)
{
    const std::string resource = "projects/" + project.id;
    if (request.method != "POST")
        return json(json::value_t::discarded);
    if (verb != "undelete")
        return m_policies.answer(request, verb, resource);
    if (project.resource.value("lifecycleState", std::string()) == "ACTIVE")
        return googleFail(ErrorCode::FailedPrecondition, "The project is not marked for deletion.");
    if (const auto restored = m_projects.setState(project, "ACTIVE"); !restored)
        return tl::unexpected(restored.error());
    return json::object();
}

GoogleResult<json> ResourceManagerService::create(const ServerRequest &request)
{
    const json body = bodyOf(request);
    const std::string id = body.value("projectId", std::string());
    const std::string name = body.value("name", id);
    if (const auto valid = checkId(id); !valid)
        return tl::unexpected(valid.error());
    if (const auto valid = checkName(name); !valid)
        return tl::unexpected(valid.error());
    const auto there = m_projects.find(id);
    if (!there)
        return tl::unexpected(there.error());
    if (*there)
        return googleFail(ErrorCode::AlreadyExists, "Requested entity already exists");

    const OperationPlan plan = m_operations.plan("CREATE_PROJECT", {}, kCreateTakes);
    json response = json::object();
    if (!plan.failure) {
        json resource{{"projectId", id}, {"name", name}};
        for (const char *field : {"labels", "parent"}) {
            if (body.contains(field))
                resource[field] = body[field];
        }
        const auto made = m_projects.create(std::move(resource));
        if (!made)
            return tl::unexpected(made.error());
        response = made->resource;
        response["@type"] = "type.googleapis.com/google.cloudresourcemanager.v1.Project";
    }
    return m_operations.start("operations/cp." + randomDigits(19), plan, {}, response);
}

GoogleResult<json> ResourceManagerService::list(const ServerRequest &request)
{
    const auto page = pageOf(request, "pageSize", 300, 1000);
    const auto projects = m_projects.all();
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid page token.");
    if (!projects)
        return tl::unexpected(projects.error());
    const std::string filter = request.queryValue("filter").value_or("");
    json items = json::array();
    for (const Project &project : *projects) {
        if (project.id <= page->after || !matchesProject(project.resource, filter))
            continue;
        if (items.size() == page->size) {
            const std::string last = items.back().value("projectId", std::string());
            return json{{"projects", std::move(items)}, {"nextPageToken", pageTokenAfter(last)}};
        }
        items.push_back(project.resource);
    }
    return items.empty() ? json::object() : json{{"projects", std::move(items)}};
}

} // namespace cluster::local
