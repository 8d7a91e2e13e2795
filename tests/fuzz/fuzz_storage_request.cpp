// Texts of Google's small services that clients write: multipart uploads, ranges of resumable ones, choices
// of fields, page tokens. The first byte says which.

#include "cluster/local/gcp/multipart_related.h"
#include "cluster/local/gcp/partial_response.h"
#include "cluster/local/gcp/upload_range.h"
#include "cluster/local/gcp/wire_values.h"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace cluster::local;

namespace {

void require(bool holds)
{
    if (!holds)
        std::abort();
}

void multipart(std::string_view text)
{
    // The header is the first line, the body the rest.
    const auto end = text.find('\n');
    const std::string_view body = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto parts = splitRelated(text.substr(0, end), body);
    if (!parts || parts->media.empty())
        return;
    require(parts->media.data() >= body.data());
    require(parts->media.data() + parts->media.size() <= body.data() + body.size());
}

void range(std::string_view text)
{
    const auto range = readUploadRange(text);
    if (range && range->total && !range->isQuestion && range->isGiven)
        require(range->first < *range->total);
}

void fields(std::string_view text)
{
    static const nlohmann::json answer{
        {"kind", "list"}, {"items", {{{"id", 1}, {"tags", {{"a", "b"}}}}, {{"id", 2}}}}, {"next", nullptr}};
    const auto chosen = selectFields(answer, text);
    require(!chosen || chosen->dump().size() <= answer.dump().size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0]) {
    case 'm':
        multipart(text);
        break;
    case 'r':
        range(text);
        break;
    case 'f':
        fields(text);
        break;
    default:
        if (const auto bytes = base64Decoded(text))
            require(base64(*bytes) == text);
    }
    return 0;
}
