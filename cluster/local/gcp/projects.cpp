#include "cluster/local/gcp/projects.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

std::string projectKey(const std::string &id)
{
    return "projects/" + id;
}

std::string numberKeyOf(const std::string &number)
{
    return "project-numbers/" + number;
}

Project toProject(const json &resource)
{
    return {resource.value("projectId", std::string()), resource.value("projectNumber", std::string()),
            resource};
}

} // namespace

GoogleStatus Projects::ensureFirst()
{
    const auto there = find(m_context.projectId);
    if (!there)
        return tl::unexpected(there.error());
    if (*there)
        return {};
    auto made = create({{"projectId", m_context.projectId},
                        {"projectNumber", m_context.projectNumber},
                        {"name", m_context.projectId}});
    return made ? GoogleStatus{} : tl::unexpected(made.error());
}

GoogleResult<std::optional<Project>> Projects::find(const std::string &idOrNumber) const
{
    std::string id = idOrNumber;
    const bool isNumber
        = !id.empty() && std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (isNumber) {
        const auto entry = m_context.documents.get(numberKeyOf(id));
        if (!entry)
            return tl::unexpected(toGoogleError(entry.error()));
        if (!*entry)
            return std::nullopt;
        id = (*entry)->value.value("projectId", std::string());
    }
    const auto document = m_context.documents.get(projectKey(id));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return std::nullopt;
    return std::optional<Project>(toProject((*document)->value));
}

GoogleResult<Project> Projects::require(const std::string &idOrNumber) const
{
    auto found = find(idOrNumber);
    if (!found)
        return tl::unexpected(found.error());
    if (!*found || (*found)->resource.value("lifecycleState", std::string()) != "ACTIVE") {
        json info{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                  {"reason", "USER_PROJECT_DENIED"},
                  {"domain", "googleapis.com"},
                  {"metadata", {{"consumer", "projects/" + idOrNumber}}}};
        return googleFail(ErrorCode::PermissionDenied,
                          "Project '" + idOrNumber + "' not found or permission denied.",
                          json::array({std::move(info)}));
    }
    return std::move(**found);
}

GoogleResult<std::vector<Project>> Projects::all() const
{
    const auto documents = m_context.documents.list(projectKey({}));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    std::vector<Project> projects;
    for (const Document &document : *documents)
        projects.push_back(toProject(document.value));
    return projects;
}

GoogleResult<Project> Projects::create(json resource)
{
    if (!resource.contains("projectNumber"))
        resource["projectNumber"] = randomDigits(12);
    resource["lifecycleState"] = "ACTIVE";
    resource["createTime"] = rfc3339(m_context.now(), 3);
    const Project project = toProject(resource);
    // The number first: a project without one would be unreachable for the rest, a number alone harms nobody.
    const auto numbered = m_context.documents.put(numberKeyOf(project.number), {{"projectId", project.id}});
    if (!numbered)
        return tl::unexpected(toGoogleError(numbered.error()));
    const auto written = m_context.documents.create(projectKey(project.id), resource);
    if (!written) {
        static_cast<void>(m_context.documents.remove(numberKeyOf(project.number)));
        if (written.error().code == ErrorCode::AlreadyExists)
            return googleFail(ErrorCode::AlreadyExists, "Requested entity already exists");
        return tl::unexpected(toGoogleError(written.error()));
    }
    return project;
}

GoogleStatus Projects::setState(const Project &project, const std::string &state)
{
    auto updated = update(project, {{"lifecycleState", state}});
    return updated ? GoogleStatus{} : tl::unexpected(updated.error());
}

GoogleResult<Project> Projects::update(const Project &project, const json &fields)
{
    const auto written = m_context.documents.update(projectKey(project.id), [&](json &resource) -> Status {
        resource.update(fields);
        return {};
    });
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    return toProject(written->value);
}

} // namespace cluster::local
