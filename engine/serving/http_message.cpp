#include "engine/serving/http_message.h"

#include <algorithm>

namespace engine {

namespace {

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

bool equalsIgnoringCase(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

const std::string *findHeader(const HttpHeaders &headers, std::string_view name)
{
    for (const auto &[key, value] : headers) {
        if (equalsIgnoringCase(key, name))
            return &value;
    }
    return nullptr;
}

std::string_view HttpRequest::header(std::string_view name) const
{
    const std::string *value = findHeader(headers, name);
    return value ? std::string_view(*value) : std::string_view();
}

} // namespace engine
