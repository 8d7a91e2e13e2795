#include "cluster/local/gcp/multipart_related.h"

#include <algorithm>
#include <optional>

namespace cluster::local {

namespace {

constexpr std::size_t kLongestBoundary = 70; // RFC 2046

tl::unexpected<Error> malformed(const char *what)
{
    return fail(ErrorCode::InvalidArgument, std::string("Malformed multipart body: ") + what + ".");
}

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string boundaryOf(std::string_view contentType)
{
    constexpr std::string_view kName = "boundary=";
    const auto found = std::search(contentType.begin(), contentType.end(), kName.begin(), kName.end(),
                                   [](char a, char b) { return lower(a) == b; });
    if (found == contentType.end())
        return {};
    std::string_view value
        = contentType.substr(static_cast<std::size_t>(found - contentType.begin()) + kName.size());
    if (value.starts_with('"') || value.starts_with('\'')) {
        const auto end = value.find(value.front(), 1);
        return std::string(value.substr(1, end == std::string_view::npos ? end : end - 1));
    }
    return std::string(trimmed(value.substr(0, value.find(';'))));
}

struct Part
{
    std::string type;
    std::string_view content;
};

/// Reads the part at the front of `rest`, which begins behind a boundary, and leaves what follows its end.
std::optional<Part> takePart(std::string_view &rest, const std::string &boundary)
{
    Part part;
    bool hasCr = false;
    for (bool first = true;; first = false) {
        const auto end = rest.find('\n');
        if (end == std::string_view::npos)
            return std::nullopt;
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        hasCr = line.ends_with('\r');
        line = trimmed(line);
        if (line.empty() && !first) // the first is the rest of the boundary's own line
            break;
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        constexpr std::string_view kType = "content-type";
        const std::string_view name = trimmed(line.substr(0, colon));
        if (std::equal(name.begin(), name.end(), kType.begin(), kType.end(),
                       [](char a, char b) { return lower(a) == b; }))
            part.type = std::string(trimmed(line.substr(colon + 1)));
    }
    // An empty part may end right here.
    const std::string mark = (hasCr ? "\r\n--" : "\n--") + boundary;
    if (rest.starts_with("--" + boundary)) {
        rest.remove_prefix(2 + boundary.size());
        return part;
    }
    const auto end = rest.find(mark);
    if (end == std::string_view::npos)
        return std::nullopt;
    part.content = rest.substr(0, end);
    rest.remove_prefix(end + mark.size());
    return part;
}

} // namespace

Result<RelatedParts> splitRelated(std::string_view contentType, std::string_view body)
{
    const std::string boundary = boundaryOf(contentType);
    if (boundary.empty() || boundary.size() > kLongestBoundary)
        return malformed("the Content-Type has no boundary");
    const auto start = body.find("--" + boundary);
    if (start == std::string_view::npos)
        return malformed("its boundary is not in it");
    std::string_view rest = body.substr(start + 2 + boundary.size());
    const auto metadata = takePart(rest, boundary);
    if (!metadata)
        return malformed("the first part, the object's metadata, has no end");
    const auto media = rest.starts_with("--") ? std::nullopt : takePart(rest, boundary);
    if (!media)
        return malformed("the second part, the object's bytes, is missing or has no end");
    return RelatedParts{std::string(metadata->content), media->type, media->content};
}

} // namespace cluster::local
