#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace engine {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Value of the first header of that name (names are compared without regard to case), or null.
[[nodiscard]] const std::string *findHeader(const HttpHeaders &headers, std::string_view name);

/// ASCII comparison without regard to case, as for header names.
[[nodiscard]] bool equalsIgnoringCase(std::string_view a, std::string_view b);

struct HttpRequest
{
    std::string method;
    std::string path; ///< Without the query.
    std::string query; ///< Without the question mark.
    HttpHeaders headers;
    std::string body;

    [[nodiscard]] std::string_view header(std::string_view name) const; ///< Empty if absent.
};

/// `date`, `server`, `content-length` or `transfer-encoding` and `connection` are added when it is written.
struct HttpResponse
{
    int status = 200;
    HttpHeaders headers;
    std::string body;
};

} // namespace engine
