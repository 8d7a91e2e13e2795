#include "cluster/local/metadataserver/metadata_tree.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>

namespace cluster::local {

using Tree = nlohmann::ordered_json;

namespace {

using Path = std::span<const std::string>;

Tree accountTree(const MetadataFacts &facts)
{
    return {{"aliases", {"default"}}, {"email", facts.email}, {"scopes", facts.scopes}};
}

Tree factsTree(const MetadataFacts &facts)
{
    const Tree attributes{{"cluster-location", facts.clusterLocation},
                          {"cluster-name", facts.clusterName},
                          {"cluster-uid", facts.clusterUid}};
    Tree accounts{{"default", accountTree(facts)}};
    accounts[facts.email] = accountTree(facts);
    const Tree instance{{"attributes", attributes},
                        {"hostname", facts.hostName},
                        {"id", facts.instanceId},
                        {"service-accounts", accounts},
                        {"zone", "projects/" + facts.projectNumber + "/zones/" + facts.zone}};
    const Tree project{{"numeric-project-id", facts.projectNumber}, {"project-id", facts.project}};
    return {{"instance", instance}, {"project", project}};
}

/// "numeric-project-id" is numericProjectId in JSON.
std::string camelCase(const std::string &name)
{
    std::string result;
    bool isNext = false;
    for (const char c : name) {
        if (c == '-') {
            isNext = true;
            continue;
        }
        result += isNext ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        isNext = false;
    }
    return result;
}

Tree jsonForm(const Tree &tree, bool keepsNames)
{
    if (!tree.is_object())
        return tree;
    Tree result = Tree::object();
    for (const auto &[name, value] : tree.items()) {
        const bool isFree
            = name == "attributes" || name == "service-accounts"; // what is below was named by people
        result[keepsNames ? name : camelCase(name)] = jsonForm(value, isFree);
    }
    return result;
}

bool isAccount(const Tree &tree)
{
    return tree.is_object() && tree.contains("scopes");
}

std::string listText(const Tree &tree)
{
    std::string text;
    for (const auto &[name, value] : tree.items())
        text += name + (value.is_object() ? "/\n" : "\n");
    return isAccount(tree) ? "aliases\nemail\nidentity\nscopes\ntoken\n" : text;
}

std::string valueText(const Tree &value)
{
    if (value.is_string())
        return value.get<std::string>();
    std::string text;
    for (const Tree &line : value)
        text += line.get<std::string>() + "\n";
    return text;
}

/// Behind /computeMetadata/v1; without the empty part behind a last slash.
Path pathOf(const ServerRequest &request)
{
    Path path(request.segments);
    path = path.subspan(std::min<std::size_t>(2, path.size()));
    if (!path.empty() && path.back().empty())
        path = path.first(path.size() - 1);
    return path;
}

bool isBelowV1(const ServerRequest &request)
{
    const auto &path = request.segments;
    return path.size() >= 2 && path[0] == "computeMetadata" && path[1] == "v1";
}

ServerResponse notFound()
{
    return metadataAnswer(404, "404 page not found\n", "text/plain; charset=utf-8");
}

} // namespace

ServerResponse metadataAnswer(int status, std::string body, const std::string &type)
{
    return {status,
            {{"Metadata-Flavor", "Google"}, {"Server", "GKE Metadata Server"}, {"Content-Type", type}},
            std::move(body)};
}

tl::expected<MetadataRequest, ServerResponse> metadataRequest(const ServerRequest &request)
{
    if (request.method != "GET" && request.method != "HEAD")
        return tl::unexpected(metadataAnswer(405, "Method Not Allowed\n"));
    const bool isMetadata = !request.segments.empty() && request.segments[0] == "computeMetadata"
        && request.segments.size() > 1 && !request.segments[1].empty();
    if (!isMetadata) // libraries look at the root whether there is such a server
        return MetadataRequest{};
    if (request.header("Metadata-Flavor").value_or("") != "Google")
        return tl::unexpected(
            metadataAnswer(403, "Missing required header \"Metadata-Flavor\": \"Google\"\n"));
    if (request.header("X-Forwarded-For"))
        return tl::unexpected(
            metadataAnswer(403, "Request with the header \"X-Forwarded-For\" is not allowed\n"));
    const Path path = pathOf(request);
    const bool isOfAccount
        = isBelowV1(request) && path.size() == 4 && path[0] == "instance" && path[1] == "service-accounts";
    MetadataRequest wanted;
    if (isOfAccount && path[3] == "token")
        wanted.kind = MetadataRequest::Kind::AccessToken;
    if (isOfAccount && path[3] == "identity") {
        wanted.kind = MetadataRequest::Kind::IdentityToken;
        wanted.audience = request.queryValue("audience").value_or("");
        if (wanted.audience.empty())
            return tl::unexpected(metadataAnswer(400, "non-empty audience parameter required\n"));
    }
    return wanted;
}

ServerResponse metadataPage(const ServerRequest &request, const MetadataFacts &facts)
{
    if (request.path == "/")
        return metadataAnswer(200, "computeMetadata/\n");
    if (request.path == "/computeMetadata/" || request.path == "/computeMetadata")
        return metadataAnswer(200, "v1/\n");
    if (!isBelowV1(request))
        return notFound();
    const Tree tree = factsTree(facts);
    const Tree *at = &tree;
    for (const std::string &part : pathOf(request)) {
        if (!at->is_object() || !at->contains(part))
            return notFound();
        at = &at->at(part);
    }
    const auto recursive = request.queryValue("recursive");
    const bool isRecursive = recursive && (*recursive == "true" || *recursive == "True" || *recursive == "1");
    if (isRecursive || request.queryValue("alt") == "json")
        return metadataAnswer(200, jsonForm(*at, false).dump(), "application/json");
    if (!at->is_object())
        return metadataAnswer(200, valueText(*at));
    if (!request.path.ends_with('/')) {
        ServerResponse moved = metadataAnswer(301, request.path + "/\n");
        moved.headers.emplace_back("Location", request.path + "/");
        return moved;
    }
    return metadataAnswer(200, listText(*at));
}

} // namespace cluster::local
