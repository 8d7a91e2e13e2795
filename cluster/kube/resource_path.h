#pragma once

#include <string>
#include <string_view>

namespace cluster {

/// Where an object or a collection is in the Kubernetes API: group, version, plural, and as much of
/// namespace, name and subresource as is known. A value; the small functions below make the usual ones.
///
///     coreV1("pods", "default")                       /api/v1/namespaces/default/pods
///     coreV1("pods", "default", "web-0").sub("status")   …/pods/web-0/status
///     apiGroup("apps", "v1", "deployments")           /apis/apps/v1/deployments, of all namespaces
///     coreV1("nodes").named("n1")                     /api/v1/nodes/n1
struct ResourcePath
{
    std::string group; ///< empty: the core group
    std::string version = "v1";
    std::string plural; ///< "pods"
    std::string space; ///< namespace; empty: cluster-scoped, or all namespaces
    std::string name; ///< empty: the collection
    std::string subresource; ///< "status", "scale", "binding", "eviction", …; may have slashes ("proxy/x")

    [[nodiscard]] ResourcePath named(std::string_view objectName) const;
    [[nodiscard]] ResourcePath in(std::string_view nameSpace) const;
    [[nodiscard]] ResourcePath sub(std::string_view subresourceName) const;
    [[nodiscard]] ResourcePath collection() const; ///< without name and subresource

    [[nodiscard]] std::string apiVersion() const; ///< "v1", "apps/v1": as in objects
    [[nodiscard]] std::string text() const; ///< the URL's path, each part percent-encoded
    /// For messages: "pods default/web-0", "nodes".
    [[nodiscard]] std::string display() const;

    friend bool operator==(const ResourcePath &, const ResourcePath &) = default;
};

ResourcePath coreV1(std::string_view plural, std::string_view nameSpace = {}, std::string_view name = {});
ResourcePath apiGroup(std::string_view group, std::string_view version, std::string_view plural,
                      std::string_view nameSpace = {}, std::string_view name = {});

/// All but letters, digits and -._~ as %XX.
std::string percentEncoded(std::string_view text);

} // namespace cluster
