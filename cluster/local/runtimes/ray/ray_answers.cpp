#include "cluster/local/runtimes/ray/ray_answers.h"

namespace cluster::local {

using nlohmann::json;

ServerResponse rayJson(const json &body, int status)
{
    return {status,
            {{"Content-Type", "application/json; charset=utf-8"}},
            body.dump(-1, ' ', false, json::error_handler_t::replace)};
}

ServerResponse rayEnvelope(const std::string &message, const json &data)
{
    return rayJson({{"result", true}, {"msg", message}, {"data", data}});
}

ServerResponse rayFailure(int status, const std::string &message, const json &data)
{
    return rayJson({{"result", false}, {"msg", message}, {"data", data}}, status);
}

ServerResponse rayText(int status, const std::string &text)
{
    return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, text};
}

ServerResponse rayHealth(const std::string &text)
{
    return {200, {{"Content-Type", "application/text; charset=utf-8"}}, text};
}

ServerResponse rayNotFound()
{
    return rayText(404, "404: Not Found");
}

ServerResponse rayWrongMethod(const std::string &allowed)
{
    ServerResponse response = rayText(405, "405: Method Not Allowed");
    response.headers.emplace_back("Allow", allowed);
    return response;
}

std::string pythonTraceback(const std::string &lastLine)
{
    return "Traceback (most recent call last):\n  slipway-ray, in place of Ray's dashboard\n" + lastLine;
}

} // namespace cluster::local
