#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace cluster::local {

/// One application of PUT /api/serve/applications/.
struct ServeAppConfig
{
    std::string name = "default";
    std::string importPath; ///< "module.sub:attribute"
    std::string routePrefix = "/";
    nlohmann::json arguments = nlohmann::json::object(); ///< "args"
    std::map<std::string, std::string> variables; ///< runtime_env.env_vars
    std::map<std::string, nlohmann::json> deployments; ///< what the config says of each, by name
    nlohmann::json given; ///< the known fields as they came, for "deployed_app_config"

    /// What must be built anew when it differs; deployments' numbers needn't.
    [[nodiscard]] bool hasSameCode(const ServeAppConfig &other) const;
};

struct ServeConfig
{
    std::vector<ServeAppConfig> apps;
    std::string proxyLocation = "EveryNode";
    unsigned short port = 8000; ///< http_options.port; only the first config's counts
};

/// An answer as the real dashboard gives it: 400 in pydantic's words, 500 as a Python traceback.
struct ServeConfigProblem
{
    int status = 400;
    std::string text;
};

/// The body of PUT /api/serve/applications/ (ServeDeploySchema). Unknown fields are ignored, as recorded
/// (contracts: observed-ray/02-serve-put-*). The body comes from outside: any bytes.
tl::expected<ServeConfig, ServeConfigProblem> parseServeConfig(std::string_view body);

} // namespace cluster::local
