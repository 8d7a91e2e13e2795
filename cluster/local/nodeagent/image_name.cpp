#include "cluster/local/nodeagent/image_name.h"

#include <algorithm>

namespace cluster::local {

namespace {

constexpr std::size_t longestName = 255;

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}
bool isLower(char c)
{
    return (c >= 'a' && c <= 'z') || isDigit(c);
}
bool isUpper(char c)
{
    return c >= 'A' && c <= 'Z';
}
bool isAlnum(char c)
{
    return isLower(c) || isUpper(c);
}
bool isHex(char c)
{
    return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template<typename Check>
bool isAll(std::string_view text, Check check)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), check);
}

/// Letters and digits, between them single dots, one or two underscores, or any number of dashes.
bool isComponent(std::string_view text)
{
    if (text.empty() || !isLower(text.front()) || !isLower(text.back()))
        return false;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end
            = std::min(static_cast<std::size_t>(
                           std::find_if(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), isLower)
                           - text.begin()),
                       text.size());
        const std::string_view between = text.substr(i, end - i);
        const bool isFine = between.empty() || between == "." || between == "_" || between == "__"
            || between.find_first_not_of('-') == std::string_view::npos;
        if (!isFine)
            return false;
        i = end + 1;
    }
    return true;
}

/// HOST[:PORT], parts of letters, digits and inner dashes.
bool isDomain(std::string_view text)
{
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        if (!isAll(text.substr(colon + 1), isDigit))
            return false;
        text = text.substr(0, colon);
    }
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('.', begin), text.size());
        const std::string_view part = text.substr(begin, end - begin);
        if (part.empty() || part.front() == '-' || part.back() == '-'
            || !isAll(part, [](char c) { return isAlnum(c) || c == '-'; }))
            return false;
        begin = end + 1;
    }
    return true;
}

bool isTag(std::string_view text)
{
    const auto isInner = [](char c) { return isAlnum(c) || c == '_' || c == '.' || c == '-'; };
    return isAll(text, isInner) && text.size() <= 128 && text.front() != '.' && text.front() != '-';
}

/// ALGORITHM:HEX
bool isDigest(std::string_view text)
{
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return false;
    const std::string_view algorithm = text.substr(0, colon), value = text.substr(colon + 1);
    const bool isKnown = algorithm == "sha256" ? value.size() == 64 : value.size() >= 32;
    return isKnown && isAll(value, isHex) && isAlnum(algorithm.front()) && isAll(algorithm, [](char c) {
               return isAlnum(c) || c == '+' || c == '.' || c == '_' || c == '-';
           });
}

} // namespace

std::string imageNameError(std::string_view image)
{
    constexpr const char *wrong = "invalid reference format";
    if (image.size() == 64 && isAll(image, [](char c) { return isHex(c) && !isUpper(c); }))
        return "invalid repository name (" + std::string(image)
            + "), cannot specify 64-byte hexadecimal strings";
    std::string_view rest = image, domain;
    if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
        const std::string_view first = rest.substr(0, slash);
        const bool isHost = first.find_first_of(".:") != std::string_view::npos || first == "localhost"
            || std::any_of(first.begin(), first.end(), isUpper);
        if (isHost) {
            domain = first;
            rest = rest.substr(slash + 1);
        }
    }
    const bool isOfficial = domain.empty() && rest.find('/') == std::string_view::npos;
    const std::string_view path = rest.substr(0, std::min(rest.find(':'), rest.find('@')));
    if (std::any_of(path.begin(), path.end(), isUpper))
        return std::string(wrong) + ": repository name (" + (isOfficial ? "library/" : "") + std::string(path)
            + ") must be lowercase";
    std::string_view suffix = rest.substr(path.size());
    if (const std::size_t at = suffix.find('@'); at != std::string_view::npos) {
        if (!isDigest(suffix.substr(at + 1)))
            return wrong;
        suffix = suffix.substr(0, at);
    }
    if (!suffix.empty() && !isTag(suffix.substr(1)))
        return wrong;
    if (!domain.empty() && !isDomain(domain))
        return wrong;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        if (!isComponent(path.substr(begin, end - begin)))
            return wrong;
        begin = end + 1;
    }
    const std::size_t size = domain.size() + path.size() + 1;
    return size > longestName ? "repository name must not be more than 255 characters" : "";
}

} // namespace cluster::local
