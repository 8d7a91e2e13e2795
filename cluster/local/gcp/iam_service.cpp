#include "cluster/local/gcp/iam_service.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <regex>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kApi = "iam.googleapis.com";

constexpr std::size_t kMostAccounts = 100; // of a project, Google's default quota

std::string accountKey(const std::string &email)
{
    return "service-accounts/" + email;
}

std::string deletedKeyOf(const std::string &uniqueId)
{
    return "deleted-service-accounts/" + uniqueId;
}

tl::unexpected<GoogleError> unknownAccount()
{
    return googleFail(ErrorCode::NotFound, "Unknown service account");
}

GoogleStatus checkAccountId(const std::string &id)
{
    static const std::regex form("[a-z]([-a-z0-9]*[a-z0-9])?");
    if (id.size() < 6 || id.size() > 30)
        return googleFail(ErrorCode::InvalidArgument,
                          "The account ID \"" + id + "\" does not have a length between 6 and 30.");
    if (!std::regex_match(id, form))
        return googleFail(ErrorCode::InvalidArgument,
                          "Service account ID must match regex [a-z]([-a-z0-9]*[a-z0-9]): \"" + id
                              + "\" does not.");
    return {};
}

std::string emailOf(const json &account)
{
    return account.value("email", std::string());
}

} // namespace

IamService::IamService(GcpContext &context)
    : m_context(context), m_projects(context), m_apis(context), m_policies(context)
{
}

ServerResponse IamService::handle(const ServerRequest &request, std::span<const std::string> path)
{
    const auto body = answer(request, path);
    if (body)
        return body->is_discarded() ? unknownMethodResponse(request) : jsonResponse(*body);
    return errorResponse(body.error());
}

GoogleResult<json> IamService::answer(const ServerRequest &request, std::span<const std::string> path)
{
    const bool isAccounts
        = path.size() >= 4 && path[0] == "v1" && path[1] == "projects" && path[3] == "serviceAccounts";
    if (!isAccounts || path.size() > 6)
        return json(json::value_t::discarded);
    std::string projectId = path[2];
    if (projectId != "-") {
        const auto project = m_projects.require(projectId);
        if (!project)
            return tl::unexpected(project.error());
        if (const auto enabled = m_apis.require(*project, kApi); !enabled)
            return tl::unexpected(enabled.error());
        if (path.size() == 4)
            return request.method == "POST" ? create(request, *project) : list(request, *project);
        projectId = project->id;
    }
    if (path.size() == 5)
        return account(request, projectId, path[4]);
    if (path.size() == 6 && path[5] == "keys" && request.method == "GET") {
        // No keys are made here: nothing on this machine would take one.
        auto found = find(projectId, path[4]);
        return found ? GoogleResult<json>(json::object()) : found;
    }
    return json(json::value_t::discarded);
}

GoogleResult<json> IamService::create(const ServerRequest &request, const Project &project)
{
    const json body = bodyOf(request);
    const std::string id = body.value("accountId", std::string());
    if (const auto valid = checkAccountId(id); !valid)
        return tl::unexpected(valid.error());
    const std::string suffix = "@" + project.id + ".iam.gserviceaccount.com";
    const std::string email = id + suffix;
    const std::string name = "projects/" + project.id + "/serviceAccounts/" + email;
    const auto others = m_context.documents.list(accountKey({}));
    if (!others)
        return tl::unexpected(toGoogleError(others.error()));
    const auto count = std::count_if(others->begin(), others->end(), [&](const Document &document) {
        return document.value.value("projectId", std::string()) == project.id;
    });
    if (static_cast<std::size_t>(count) >= kMostAccounts)
        return googleFail(ErrorCode::ResourceExhausted,
                          "Maximum number of service accounts on project reached.");
    const json given = body.value("serviceAccount", json::object());
    const std::string uniqueId = "1" + randomDigits(20);
    json resource{{"name", name},   {"projectId", project.id}, {"uniqueId", uniqueId},
                  {"email", email}, {"etag", "MDEwMjE5MjA="},  {"oauth2ClientId", uniqueId}};
    for (const char *field : {"displayName", "description"}) {
        if (given.contains(field))
            resource[field] = given[field];
    }
    const auto written = m_context.documents.create(accountKey(email), resource);
    if (written)
        return resource;
    if (written.error().code != ErrorCode::AlreadyExists)
        return tl::unexpected(toGoogleError(written.error()));
    json info{{"@type", "type.googleapis.com/google.rpc.ResourceInfo"}, {"resourceName", name}};
    return googleFail(ErrorCode::AlreadyExists,
                      "Service account " + id + " already exists within project projects/" + project.id + ".",
                      json::array({std::move(info)}));
}

GoogleResult<json> IamService::list(const ServerRequest &request, const Project &project)
{
    const auto page = pageOf(request, "pageSize", 20, 100);
    const auto documents = m_context.documents.list(accountKey({}));
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid page token.");
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    json accounts = json::array();
    for (const Document &document : *documents) {
        if (document.value.value("projectId", std::string()) != project.id || document.key <= page->after)
            continue;
        if (accounts.size() == page->size) {
            const std::string last = accountKey(emailOf(accounts.back()));
            return json{{"accounts", std::move(accounts)}, {"nextPageToken", pageTokenAfter(last)}};
        }
        accounts.push_back(document.value);
    }
    return accounts.empty() ? json::object() : json{{"accounts", std::move(accounts)}};
}

GoogleResult<json> IamService::find(const std::string &projectId, const std::string &name) const
{
    const auto fits = [&](const json &account) {
        return projectId == "-" || account.value("projectId", std::string()) == projectId;
    };
    const auto direct = m_context.documents.get(accountKey(name));
    if (!direct)
        return tl::unexpected(toGoogleError(direct.error()));
    if (*direct && fits((*direct)->value))
        return (*direct)->value;
    const auto documents = m_context.documents.list(accountKey({}));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    for (const Document &document : *documents) {
        if (document.value.value("uniqueId", std::string()) == name && fits(document.value))
            return document.value;
    }
    return unknownAccount();
}

GoogleResult<json> IamService::account(const ServerRequest &request, const std::string &projectId,
                                       const std::string &name)
{
    const auto colon = name.rfind(':');
    const std::string id = name.substr(0, colon);
    const std::string what = colon == std::string::npos ? std::string() : name.substr(colon + 1);
    if (what == "undelete" && request.method == "POST")
        return undelete(projectId, id);
    auto found = find(projectId, id);
    if (!found)
        return found;
    if (projectId == "-") { // the account says whose it is
        const auto project = m_projects.require(found->value("projectId", std::string()));
        const auto enabled = project ? m_apis.require(*project, kApi) : tl::unexpected(project.error());
        if (!enabled)
            return tl::unexpected(enabled.error());
    }
    if (!what.empty())
        return verb(request, *found, what);
    if (request.method == "GET")
        return found;
    if (request.method == "DELETE")
        return remove(*found);
    if (request.method != "PATCH" && request.method != "PUT")
        return json(json::value_t::discarded);
    const json body = bodyOf(request);
    const json given = request.method == "PATCH" ? body.value("serviceAccount", json::object()) : body;
    json fields = json::object();
    for (const char *field : {"displayName", "description"}) {
        if (given.contains(field))
            fields[field] = given[field];
    }
    return update(*found, fields);
}

GoogleResult<json> IamService::verb(const ServerRequest &request, const json &account,
                                    const std::string &verb)
{
    const std::string resource = "serviceAccounts/" + emailOf(account);
    if (request.method != "POST")
        return json(json::value_t::discarded);
    if (verb != "enable" && verb != "disable")
        return m_policies.answer(request, verb, resource);
    const auto updated = update(account, {{"disabled", verb == "disable"}});
    return updated ? GoogleResult<json>(json::object()) : updated;
}

GoogleResult<json> IamService::update(const json &account, const json &fields)
{
    const auto written = m_context.documents.update(accountKey(emailOf(account)), [&](json &value) -> Status {
        value.update(fields);
        return {};
    });
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    return written->value;
}

GoogleResult<json> IamService::remove(const json &account)
{
    const std::string email = emailOf(account);
    const std::string uniqueId = account.value("uniqueId", std::string());
    const auto kept = m_context.documents.put(deletedKeyOf(uniqueId), account);
    if (!kept)
        return tl::unexpected(toGoogleError(kept.error()));
    if (const auto renamed = m_policies.renameMember("serviceAccount:" + email,
                                                     "deleted:serviceAccount:" + email + "?uid=" + uniqueId);
        !renamed)
        return tl::unexpected(renamed.error());
    if (const auto gone = m_policies.remove("serviceAccounts/" + email); !gone)
        return tl::unexpected(gone.error());
    const Status removed = m_context.documents.remove(accountKey(email));
    if (!removed)
        return tl::unexpected(toGoogleError(removed.error()));
    return json::object();
}

GoogleResult<json> IamService::undelete(const std::string &projectId, const std::string &uniqueId)
{
    const auto document = m_context.documents.get(deletedKeyOf(uniqueId));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return unknownAccount();
    const json account = (*document)->value;
    if (projectId != "-" && account.value("projectId", std::string()) != projectId)
        return unknownAccount();
    const std::string email = emailOf(account);
    const auto written = m_context.documents.create(accountKey(email), account);
    if (!written && written.error().code == ErrorCode::AlreadyExists)
        return googleFail(ErrorCode::FailedPrecondition,
                          "Service account " + email + " exists again: it can't be undeleted.");
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    if (const auto renamed = m_policies.renameMember("deleted:serviceAccount:" + email + "?uid=" + uniqueId,
                                                     "serviceAccount:" + email);
        !renamed)
        return tl::unexpected(renamed.error());
    static_cast<void>(m_context.documents.remove(deletedKeyOf(uniqueId)));
    return json{{"restoredAccount", account}};
}

} // namespace cluster::local
