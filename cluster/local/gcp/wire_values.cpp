#include "cluster/local/gcp/wire_values.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdexcept>
#include <vector>

namespace cluster::local {

namespace {

std::vector<unsigned char> randomBytes(std::size_t count)
{
    std::vector<unsigned char> bytes(count);
    if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1)
        throw std::runtime_error("the system's random source gave nothing");
    return bytes;
}

} // namespace

std::string rfc3339(std::chrono::system_clock::time_point time, int digits)
{
    using namespace std::chrono;
    const auto nanos = duration_cast<nanoseconds>(time.time_since_epoch()).count();
    const std::time_t clock = static_cast<std::time_t>(nanos / 1000000000);
    std::tm parts{};
    gmtime_r(&clock, &parts);
    char text[48];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    std::string out(text, length);
    if (digits > 0) {
        std::snprintf(text, sizeof text, "%09lld", static_cast<long long>(nanos % 1000000000));
        out += "." + std::string(text, static_cast<std::size_t>(std::min(digits, 9)));
    }
    return out + "Z";
}

std::int64_t millisecondsOf(std::chrono::system_clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::chrono::system_clock::time_point timeOfMilliseconds(std::int64_t milliseconds)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds));
}

std::string base64(std::string_view bytes)
{
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0'); // EVP writes a NUL behind
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(text.data()),
                                       reinterpret_cast<const unsigned char *>(bytes.data()),
                                       static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::optional<std::string> base64Decoded(std::string_view text)
{
    if (text.size() % 4 != 0 || text.size() > (1U << 20))
        return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char *>(bytes.data()),
                                       reinterpret_cast<const unsigned char *>(text.data()),
                                       static_cast<int>(text.size()));
    if (length < 0)
        return std::nullopt;
    bytes.resize(static_cast<std::size_t>(length));
    for (auto at = text.rbegin(); at != text.rend() && *at == '=' && !bytes.empty(); ++at)
        bytes.pop_back(); // EVP counts the padding as zeros
    if (base64(bytes) != text)
        return std::nullopt;
    return bytes;
}

std::string randomHex(int digits)
{
    static constexpr char kHex[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : randomBytes(static_cast<std::size_t>(digits + 1) / 2)) {
        text += kHex[byte >> 4];
        text += kHex[byte & 15];
    }
    text.resize(static_cast<std::size_t>(digits));
    return text;
}

std::string randomUuid()
{
    std::string text = randomHex(32);
    for (const std::size_t at : {8U, 13U, 18U, 23U})
        text.insert(at, 1, '-');
    text[14] = '4'; // version: random
    return text;
}

std::string randomDigits(int count)
{
    std::string text;
    for (const unsigned char byte : randomBytes(static_cast<std::size_t>(count)))
        text += static_cast<char>(text.empty() ? '1' + byte % 9 : '0' + byte % 10);
    return text;
}

nlohmann::json bodyOf(const ServerRequest &request)
{
    if (request.body.empty())
        return nlohmann::json::object();
    nlohmann::json body = nlohmann::json::parse(request.body);
    return body.is_null() ? nlohmann::json::object() : body;
}

std::optional<std::int64_t> numberOf(const ServerRequest &request, std::string_view name)
{
    const auto text = request.queryValue(name);
    if (!text)
        return std::nullopt;
    std::int64_t value = 0;
    const char *const end = text->data() + text->size();
    const auto [next, failure] = std::from_chars(text->data(), end, value);
    if (failure != std::errc{} || next != end)
        return std::nullopt;
    return value;
}

bool isTrue(const ServerRequest &request, std::string_view name)
{
    const auto text = request.queryValue(name);
    return text && (*text == "true" || *text == "True" || *text == "1");
}

std::optional<PageRequest> pageOf(const ServerRequest &request, std::string_view sizeName,
                                  std::size_t defaultSize, std::size_t maxSize)
{
    PageRequest page{defaultSize, {}};
    if (const auto size = numberOf(request, sizeName); size && *size > 0)
        page.size = std::min(maxSize, static_cast<std::size_t>(*size));
    if (const auto token = request.queryValue("pageToken"); token && !token->empty()) {
        const auto key = base64Decoded(*token);
        if (!key)
            return std::nullopt;
        page.after = *key;
    }
    return page;
}

std::string pageTokenAfter(std::string_view key)
{
    return base64(key);
}

} // namespace cluster::local
