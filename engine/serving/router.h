#pragma once

#include "engine/serving/exchange.h"
#include <functional>
#include <string>
#include <vector>

namespace engine {

/// Finds the handler of a request by method and path, with the answers of vLLM's framework for those that
/// have none: 404, 405 with `allow`, 307 for a trailing slash.
class Router
{
public:
    using Handler = std::function<void(const ExchangePtr &)>;

    struct Match
    {
        const Handler *handler = nullptr; ///< Null: `answer` is to be sent.
        std::string pattern = "none"; ///< For metrics.
        HttpResponse answer;
    };

    void add(const std::string &methods, const std::string &path,
             Handler handler); ///< methods: "GET" or "GET, POST".
    [[nodiscard]] Match find(const HttpRequest &request) const;

private:
    struct Route
    {
        std::vector<std::string> methods;
        std::string path;
        Handler handler;
    };

    std::vector<Route> m_routes;
};

} // namespace engine
