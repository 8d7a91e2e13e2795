#include "engine/serving/router.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace engine {

namespace {

HttpResponse detail(int status, const std::string &text)
{
    return {status, {{"content-type", "application/json"}}, R"({"detail":")" + text + R"("})"};
}

std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

} // namespace

void Router::add(const std::string &methods, const std::string &path, Handler handler)
{
    Route route;
    std::istringstream words(methods);
    for (std::string word; std::getline(words, word, ',');) {
        word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
        route.methods.push_back(word);
    }
    route.path = path;
    route.handler = std::move(handler);
    m_routes.push_back(std::move(route));
}

Router::Match Router::find(const HttpRequest &request) const
{
    Match match;
    std::string allowed;
    for (const Route &route : m_routes) {
        if (route.path != request.path)
            continue;
        match.pattern = route.path;
        if (std::find(route.methods.begin(), route.methods.end(), request.method) != route.methods.end()) {
            match.handler = &route.handler;
            return match;
        }
        allowed = joined(route.methods);
    }
    if (!allowed.empty()) {
        match.answer = detail(405, "Method Not Allowed");
        match.answer.headers.emplace_back("allow", allowed);
        return match;
    }
    if (request.path.size() > 1 && request.path.back() == '/') {
        const std::string shorter = request.path.substr(0, request.path.size() - 1);
        for (const Route &route : m_routes) {
            if (route.path != shorter)
                continue;
            const std::string query = request.query.empty() ? "" : "?" + request.query;
            match.answer.status = 307;
            match.answer.headers.emplace_back(
                "location", "http://" + std::string(request.header("host")) + shorter + query);
            return match;
        }
    }
    match.answer = detail(404, "Not Found");
    return match;
}

} // namespace engine
