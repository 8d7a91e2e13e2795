#pragma once

#include "cluster/httpd/server_message.h"

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace cluster::local {

/// What a pod may know by GKE's metadata server.
struct MetadataFacts
{
    std::string project, projectNumber;
    std::string zone; ///< of the node: "us-east5-b"
    std::string hostName, instanceId; ///< of the node
    std::string clusterName, clusterLocation, clusterUid;
    std::string email; ///< of the account `default`
    std::vector<std::string> scopes;
};

/// What a request is for.
struct MetadataRequest
{
    enum class Kind { Page, AccessToken, IdentityToken };
    Kind kind = Kind::Page;
    std::string audience; ///< IdentityToken
};

/// A refusal in the metadata server's words: another method than GET, no `Metadata-Flavor: Google`, one that
/// came through a proxy; else what it is for.
tl::expected<MetadataRequest, ServerResponse> metadataRequest(const ServerRequest &request);

/// A Page: values, lists of what is below a path that ends with a slash, JSON with `recursive=true`; 404, and
/// 301 to a list's own path.
ServerResponse metadataPage(const ServerRequest &request, const MetadataFacts &facts);

/// Any answer, with the headers that clients know the server by.
ServerResponse metadataAnswer(int status, std::string body, const std::string &type = "application/text");

} // namespace cluster::local
