#include "cluster/local/gcp/iam_policy.h"

#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <functional>
#include <regex>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kNoPolicyEtag = "ACAB";
constexpr std::string_view kAccountDomain = ".iam.gserviceaccount.com";
constexpr std::string_view kPoolDomain = ".svc.id.goog[";

std::string policyKey(const std::string &resource)
{
    return "iam-policies/" + resource;
}

bool hasConditions(const json &bindings)
{
    return std::any_of(bindings.begin(), bindings.end(),
                       [](const json &binding) { return binding.contains("condition"); });
}

/// As IAM shows conditional roles to clients that don't know conditions.
json withoutConditions(json bindings)
{
    for (json &binding : bindings) {
        if (!binding.contains("condition"))
            continue;
        char hash[24];
        std::snprintf(hash, sizeof hash, "%020zx", std::hash<std::string>{}(binding["condition"].dump()));
        binding["role"] = binding.value("role", std::string()) + "_withcond_" + hash;
        binding.erase("condition");
    }
    return bindings;
}

json wire(const json &bindings, const std::string &etag, int requestedVersion)
{
    const bool conditional = hasConditions(bindings);
    const bool hide = conditional && requestedVersion < 3;
    json policy{{"version", conditional && !hide ? 3 : 1}, {"etag", etag}};
    if (!bindings.empty())
        policy["bindings"] = hide ? withoutConditions(bindings) : bindings;
    return policy;
}

tl::unexpected<GoogleError> invalid(const std::string &message)
{
    return googleFail(ErrorCode::InvalidArgument, message);
}

GoogleStatus checkRole(const std::string &role)
{
    static const std::regex form("(roles|(projects|organizations)/[^/]+/roles)/[A-Za-z0-9_.]+");
    if (std::regex_match(role, form))
        return {};
    return invalid("The role name must be in the form \"roles/{role}\", "
                   "\"organizations/{organization_id}/roles/{role}\", or "
                   "\"projects/{project_id}/roles/{role}\".");
}

bool endsWith(std::string_view text, std::string_view end)
{
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

} // namespace

GoogleResult<json> IamPolicies::get(const std::string &resource, int requestedVersion) const
{
    const auto document = m_context.documents.get(policyKey(resource));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return wire(json::array(), kNoPolicyEtag, requestedVersion);
    return wire((*document)->value.value("bindings", json::array()), (*document)->etag(), requestedVersion);
}

GoogleResult<json> IamPolicies::answer(const ServerRequest &request, const std::string &verb,
                                       const std::string &resource)
{
    if (verb == "getIamPolicy")
        return get(resource, requestedPolicyVersion(request));
    if (verb == "setIamPolicy")
        return set(resource, bodyOf(request).value("policy", json::object()));
    if (verb == "testIamPermissions")
        return json{{"permissions", bodyOf(request).value("permissions", json::array())}};
    return json(json::value_t::discarded);
}

GoogleStatus IamPolicies::checkMember(const std::string &member) const
{
    static const std::regex address("[^@\\s:]+@[^@\\s:]+\\.[^@\\s:]+");
    if (member == "allUsers" || member == "allAuthenticatedUsers")
        return {};
    const auto colon = member.find(':');
    const std::string kind = member.substr(0, colon);
    const std::string name = colon == std::string::npos ? std::string() : member.substr(colon + 1);
    if (kind == "principal" || kind == "principalSet") {
        if (name.starts_with("//iam.googleapis.com/") || name.starts_with("//goog/"))
            return {};
        return invalid("Invalid principal " + member + ".");
    }
    static const std::vector<std::string> free{"deleted", "domain", "projectOwner", "projectEditor",
                                               "projectViewer"};
    if (std::find(free.begin(), free.end(), kind) != free.end() && !name.empty())
        return {};
    if (kind != "user" && kind != "group" && kind != "serviceAccount")
        return invalid("The member " + member
                       + " is of an unknown type. Please set a valid type prefix for the member.");
    if (const auto pool = name.find(kPoolDomain); kind == "serviceAccount" && pool != std::string::npos) {
        const auto project = Projects(m_context).find(name.substr(0, pool));
        if (!project)
            return tl::unexpected(project.error());
        static const std::regex subject("[^\\[]+\\[[a-z0-9.-]+/[a-z0-9.-]+\\]");
        if (*project && std::regex_match(name, subject))
            return {};
        return invalid("Identity Pool does not exist (" + name.substr(0, name.find('['))
                       + "). Please check that you specified a valid resource name as returned in the `name` "
                         "attribute in the configuration API.");
    }
    if (!std::regex_match(name, address))
        return invalid("Invalid member " + member + ": not an email address.");
    if (kind != "serviceAccount" || !endsWith(name, kAccountDomain))
        return {}; // of Google's own domains, and of people: nobody here knows them
    const std::string project = name.substr(name.find('@') + 1);
    const auto known = Projects(m_context).find(project.substr(0, project.find('.')));
    const auto account = m_context.documents.get("service-accounts/" + name);
    if (!known)
        return tl::unexpected(known.error());
    if (!account)
        return tl::unexpected(toGoogleError(account.error()));
    const bool isGoogles = project.starts_with("gcp-sa-") || project.find("-robot.") != std::string::npos;
    if (*account || (isGoogles && !*known))
        return {};
    return invalid("Service account " + name + " does not exist.");
}

GoogleResult<json> IamPolicies::checkedBindings(const json &policy) const
{
    const int version = policy.value("version", 0);
    if (version != 0 && version != 1 && version != 3)
        return invalid("Invalid policy version " + std::to_string(version) + ": use 0, 1 or 3.");
    json bindings = json::array();
    for (const json &binding : policy.value("bindings", json::array())) {
        const auto role = binding.value("role", std::string());
        if (const auto known = checkRole(role); !known)
            return tl::unexpected(known.error());
        json members = json::array();
        for (const std::string member : binding.value("members", json::array())) {
            if (const auto known = checkMember(member); !known)
                return tl::unexpected(known.error());
            if (std::find(members.begin(), members.end(), member) == members.end())
                members.push_back(member);
        }
        if (members.empty())
            continue; // IAM drops such bindings
        json kept{{"role", role}, {"members", std::move(members)}};
        if (binding.contains("condition") && !binding["condition"].is_null()) {
            if (version != 3)
                return invalid("A policy with conditional role bindings must have version 3.");
            if (binding["condition"].value("expression", std::string()).empty())
                return invalid("The condition of the binding of " + role + " has no expression.");
            kept["condition"] = binding["condition"];
        }
        bindings.push_back(std::move(kept));
    }
    return bindings;
}

GoogleResult<json> IamPolicies::set(const std::string &resource, const json &policy)
{
    auto bindings = checkedBindings(policy);
    if (!bindings)
        return bindings;
    const std::string etag = policy.value("etag", std::string());
    const json value{{"bindings", *bindings}};
    const tl::unexpected<GoogleError> stale
        = googleFail(ErrorCode::Aborted,
                     "There were concurrent policy changes. Please retry the whole read-modify-write "
                     "with exponential backoff.");
    Result<Document> written = fail(ErrorCode::Aborted, {});
    if (etag.empty())
        written = m_context.documents.put(policyKey(resource), value);
    else if (etag == kNoPolicyEtag)
        written = m_context.documents.create(policyKey(resource), value);
    else if (const auto generation = generationOfEtag(etag))
        written = m_context.documents.replace(policyKey(resource), value, *generation);
    if (written)
        return wire(*bindings, written->etag(), 3);
    const ErrorCode code = written.error().code;
    if (code == ErrorCode::Aborted || code == ErrorCode::AlreadyExists || code == ErrorCode::NotFound)
        return stale;
    return tl::unexpected(toGoogleError(written.error()));
}

GoogleStatus IamPolicies::setInitial(const std::string &resource, const json &bindings)
{
    const auto written = m_context.documents.put(policyKey(resource), {{"bindings", bindings}});
    return written ? GoogleStatus{} : tl::unexpected(toGoogleError(written.error()));
}

GoogleStatus IamPolicies::remove(const std::string &resource)
{
    const Status removed = m_context.documents.remove(policyKey(resource));
    if (removed || removed.error().code == ErrorCode::NotFound)
        return {};
    return tl::unexpected(toGoogleError(removed.error()));
}

GoogleStatus IamPolicies::renameMember(const std::string &from, const std::string &to)
{
    const auto documents = m_context.documents.list(policyKey({}));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    for (const Document &document : *documents) {
        const auto names = [&](const json &binding) {
            const json &members = binding.at("members");
            return std::find(members.begin(), members.end(), from) != members.end();
        };
        const json bindings = document.value.value("bindings", json::array());
        if (std::none_of(bindings.begin(), bindings.end(), names))
            continue;
        const auto changed = m_context.documents.update(document.key, [&](json &value) -> Status {
            for (json &binding : value["bindings"]) {
                for (json &member : binding["members"]) {
                    if (member == from)
                        member = to;
                }
            }
            return {};
        });
        if (!changed && changed.error().code != ErrorCode::NotFound)
            return tl::unexpected(toGoogleError(changed.error()));
    }
    return {};
}

int requestedPolicyVersion(const ServerRequest &request)
{
    for (const char *name : {"options.requestedPolicyVersion", "optionsRequestedPolicyVersion"}) {
        if (const auto version = numberOf(request, name))
            return static_cast<int>(*version);
    }
    return bodyOf(request).value("options", json::object()).value("requestedPolicyVersion", 0);
}

} // namespace cluster::local
