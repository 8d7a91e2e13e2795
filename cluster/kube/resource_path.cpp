#include "cluster/kube/resource_path.h"

#include <algorithm>

namespace cluster {

ResourcePath coreV1(std::string_view plural, std::string_view nameSpace, std::string_view name)
{
    return apiGroup({}, "v1", plural, nameSpace, name);
}

ResourcePath apiGroup(std::string_view group, std::string_view version, std::string_view plural,
                      std::string_view nameSpace, std::string_view name)
{
    ResourcePath path;
    path.group = group;
    path.version = version;
    path.plural = plural;
    path.space = nameSpace;
    path.name = name;
    return path;
}

ResourcePath ResourcePath::named(std::string_view objectName) const
{
    ResourcePath path = *this;
    path.name = objectName;
    return path;
}

ResourcePath ResourcePath::in(std::string_view nameSpace) const
{
    ResourcePath path = *this;
    path.space = nameSpace;
    return path;
}

ResourcePath ResourcePath::sub(std::string_view subresourceName) const
{
    ResourcePath path = *this;
    path.subresource = subresourceName;
    return path;
}

ResourcePath ResourcePath::collection() const
{
    ResourcePath path = *this;
    path.name.clear();
    path.subresource.clear();
    return path;
}

std::string ResourcePath::apiVersion() const
{
    return group.empty() ? version : group + '/' + version;
}

std::string ResourcePath::text() const
{
    std::string text = group.empty() ? "/api/" : "/apis/" + percentEncoded(group) + '/';
    text += percentEncoded(version);
    if (!space.empty())
        text += "/namespaces/" + percentEncoded(space);
    text += '/' + percentEncoded(plural);
    if (!name.empty())
        text += '/' + percentEncoded(name);
    // A subresource may be a path of its own (proxy/metrics): its slashes stay.
    for (std::size_t start = 0; start < subresource.size();) {
        const std::size_t end = std::min(subresource.find('/', start), subresource.size());
        text += '/' + percentEncoded(std::string_view(subresource).substr(start, end - start));
        start = end + 1;
    }
    return text;
}

std::string ResourcePath::display() const
{
    std::string text = group.empty() ? plural : plural + '.' + group;
    if (!subresource.empty())
        text = subresource + " of " + text;
    if (!name.empty())
        text += ' ' + (space.empty() ? name : space + '/' + name);
    else if (!space.empty())
        text += " in " + space;
    return text;
}

std::string percentEncoded(std::string_view text)
{
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    constexpr std::string_view hex = "0123456789ABCDEF";
    // "." and ".." as a whole part would climb in the path.
    const bool isDots = text == "." || text == "..";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (!isDots && plain.find(c) != std::string_view::npos) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += hex[byte >> 4U];
        encoded += hex[byte & 15U];
    }
    return encoded;
}

} // namespace cluster
