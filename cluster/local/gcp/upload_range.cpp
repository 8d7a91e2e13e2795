#include "cluster/local/gcp/upload_range.h"

#include <charconv>
#include <string>

namespace cluster::local {

namespace {

constexpr std::uint64_t kLargest = std::uint64_t{5} << 40; // bytes of an object

std::optional<std::uint64_t> numberOf(std::string_view text)
{
    std::uint64_t value = 0;
    const char *const end = text.data() + text.size();
    const auto [next, failure] = std::from_chars(text.data(), end, value);
    if (text.empty() || failure != std::errc{} || next != end || value > kLargest)
        return std::nullopt;
    return value;
}

} // namespace

Result<UploadRange> readUploadRange(std::string_view header)
{
    UploadRange range;
    if (header.empty())
        return range;
    const auto malformed = fail(ErrorCode::InvalidArgument,
                                "Failed to parse Content-Range header '" + std::string(header) + "'.");
    constexpr std::string_view kUnit = "bytes ";
    const auto slash = header.find('/');
    if (!header.starts_with(kUnit) || slash == std::string_view::npos)
        return malformed;
    range.isGiven = true;
    const std::string_view place = header.substr(kUnit.size(), slash - kUnit.size());
    const std::string_view total = header.substr(slash + 1);
    if (total != "*") {
        range.total = numberOf(total);
        if (!range.total)
            return malformed;
    }
    range.isQuestion = place == "*";
    if (range.isQuestion)
        return range;
    const auto dash = place.find('-');
    const auto first = numberOf(place.substr(0, dash));
    const auto last = dash == std::string_view::npos ? std::nullopt : numberOf(place.substr(dash + 1));
    if (!first || !last || *last < *first || (range.total && *last >= *range.total))
        return malformed;
    range.first = *first;
    return range;
}

} // namespace cluster::local
