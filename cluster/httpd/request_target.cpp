#include "cluster/httpd/request_target.h"

namespace cluster {

namespace {

bool isSafeSegment(std::string_view segment)
{
    return segment != "." && segment != ".." && segment.find('\0') == std::string_view::npos;
}

bool readPath(std::string_view path, ServerRequest &request)
{
    if (!path.starts_with('/')) {
        request.path = path; // "*" of OPTIONS
        return path == "*";
    }
    path.remove_prefix(1);
    while (!path.empty()) {
        const auto slash = path.find('/');
        auto segment = percentDecoded(path.substr(0, slash));
        if (!segment || !isSafeSegment(*segment))
            return false;
        request.path += "/" + *segment;
        request.segments.push_back(std::move(*segment));
        if (slash == std::string_view::npos)
            return true;
        path.remove_prefix(slash + 1);
    }
    request.path += '/'; // the root, or a slash at the end
    return true;
}

bool readQuery(std::string_view query, ServerRequest &request)
{
    while (!query.empty()) {
        const auto end = query.find('&');
        const auto field = query.substr(0, end);
        query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
        if (field.empty())
            continue;
        const auto equals = field.find('=');
        auto name = percentDecoded(field.substr(0, equals), true);
        auto value = equals == std::string_view::npos ? std::optional<std::string>(std::string())
                                                      : percentDecoded(field.substr(equals + 1), true);
        if (!name || !value)
            return false;
        request.query.emplace_back(std::move(*name), std::move(*value));
    }
    return true;
}

} // namespace

bool readTarget(std::string_view target, ServerRequest &request)
{
    request.target = target;
    if (request.method == "CONNECT")
        return true;
    // An absolute target (proxies' clients send it) is reduced to its path.
    if (const auto scheme = target.find("://");
        scheme != std::string_view::npos && !target.starts_with('/')) {
        const auto slash = target.find_first_of("/?", scheme + 3);
        target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
    const auto mark = target.find('?');
    if (!readPath(target.substr(0, mark), request))
        return false;
    return mark == std::string_view::npos || readQuery(target.substr(mark + 1), request);
}

} // namespace cluster
