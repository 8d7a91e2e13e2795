#include "cluster/local/gcp/documents.h"

namespace cluster::local {

namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kEtagLength = 12; // of eight bytes

} // namespace

std::string Document::etag() const
{
    const auto value = static_cast<std::uint64_t>(generation);
    std::string text;
    // Eight bytes are ten digits of six bits and one of four.
    for (int shift = 58; shift >= 4; shift -= 6)
        text += kBase64[(value >> shift) & 63];
    text += kBase64[(value & 15) << 2];
    return text + "=";
}

std::optional<std::int64_t> generationOfEtag(std::string_view etag)
{
    if (etag.size() != kEtagLength || etag.back() != '=')
        return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kEtagLength - 1; ++i) {
        const auto digit = kBase64.find(etag[i]);
        if (digit == std::string_view::npos)
            return std::nullopt;
        value = i < kEtagLength - 2 ? value << 6 | digit : value << 4 | digit >> 2;
    }
    return static_cast<std::int64_t>(value);
}

} // namespace cluster::local
