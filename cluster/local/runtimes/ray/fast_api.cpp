#include "cluster/local/runtimes/ray/fast_api.h"

namespace cluster::local {

using nlohmann::json;

ServerResponse fastApiJson(int status, const json &body)
{
    return {status,
            {{"content-type", "application/json"}},
            body.dump(-1, ' ', false, json::error_handler_t::replace)};
}

ServerResponse fastApiNotFound()
{
    return fastApiJson(404, {{"detail", "Not Found"}});
}

ServerResponse fastApiWrongMethod(const std::string &allowed)
{
    ServerResponse response = fastApiJson(405, {{"detail", "Method Not Allowed"}});
    response.headers.emplace_back("allow", allowed);
    return response;
}

ServerResponse fastApiServerError()
{
    return {500, {{"content-type", "text/plain; charset=utf-8"}}, "Internal Server Error"};
}

ServerResponse fastApiInvalidQuery(const std::string &field, const std::string &type,
                                   const std::string &message, const json &input, const json &context)
{
    json detail{{"type", type}, {"loc", json::array({"query", field})}, {"msg", message}, {"input", input}};
    if (!context.is_null())
        detail["ctx"] = context;
    return fastApiJson(422, {{"detail", json::array({detail})}});
}

} // namespace cluster::local
