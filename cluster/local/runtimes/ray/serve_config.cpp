#include "cluster/local/runtimes/ray/serve_config.h"

#include "cluster/local/runtimes/ray/python_repr.h"

#include <algorithm>
#include <array>
#include <set>

namespace cluster::local {

using Value = nlohmann::ordered_json;
using nlohmann::json;

namespace {

constexpr std::array knownFields{
    "name", "route_prefix", "import_path", "runtime_env",    "host",
    "port", "deployments",  "args",        "logging_config", "autoscaling_policy"};

/// pydantic's list of what is wrong, gathered while reading.
class Complaints
{
public:
    void add(const std::string &where, const std::string &what, const std::string &type, const Value &input)
    {
        ++m_count;
        m_text += "\n" + where + "\n  " + what + " [type=" + type + ", input_value=" + pydanticInput(input)
            + ", input_type=" + pythonType(input) + "]\n    For further information visit "
            + "https://errors.pydantic.dev/2.14/v/" + type;
    }
    [[nodiscard]] bool isEmpty() const { return m_count == 0; }
    [[nodiscard]] std::string text() const
    {
        return std::to_string(m_count) + " validation error" + (m_count == 1 ? "" : "s")
            + " for ServeDeploySchema" + m_text;
    }

private:
    int m_count = 0;
    std::string m_text;
};

/// ServeApplicationSchema's own check. Empty where the path is well formed.
std::string importPathProblem(const std::string &path)
{
    const std::string start = "Value error, Got invalid import path \"" + path + "\". An import path may ";
    const auto colons = std::count(path.begin(), path.end(), ':');
    if (colons > 1)
        return start + "have at most one colon.";
    if (colons == 1 && (path.front() == ':' || path.back() == ':'))
        return start + "not start or end with a colon.";
    if (colons == 0 && path.find('.') == std::string::npos)
        return "Value error, Got invalid import path \"" + path
            + "\". An import path must contain at least on dot or colon separating the module (and "
              "potentially submodules) from the deployment graph. E.g.: \"module.deployment_graph\".";
    if (colons == 0 && (path.front() == '.' || path.back() == '.'))
        return start + "not start or end with a dot.";
    return {};
}

json plain(const Value &value)
{
    return json::parse(value.dump(-1, ' ', false, Value::error_handler_t::replace));
}

void readText(const Value &app, const char *field, const std::string &where, std::string &into,
              Complaints &complaints)
{
    const auto found = app.find(field);
    if (found == app.end())
        return;
    if (found->is_string())
        into = found->get<std::string>();
    else
        complaints.add(where + "." + field, "Input should be a valid string", "string_type", *found);
}

void readRoute(const Value &app, const std::string &where, std::string &prefix, Complaints &complaints)
{
    const auto found = app.find("route_prefix");
    if (found == app.end())
        return;
    if (found->is_null()) {
        prefix.clear(); // not reachable over HTTP
        return;
    }
    readText(app, "route_prefix", where, prefix, complaints);
    if (!found->is_string())
        return;
    const std::string start = "Value error, Got \"" + prefix + "\" for route_prefix. Route prefix must ";
    if (!prefix.starts_with('/'))
        complaints.add(where + ".route_prefix", start + "start with \"/\".", "value_error", *found);
    else if (prefix != "/" && prefix.ends_with('/'))
        complaints.add(where + ".route_prefix",
                       start + "not end with \"/\" unless the route prefix is just \"/\".", "value_error",
                       *found);
}

void readImportPath(const Value &app, const std::string &where, std::string &path, Complaints &complaints)
{
    const auto found = app.find("import_path");
    if (found == app.end()) {
        complaints.add(where + ".import_path", "Field required", "missing", app);
        return;
    }
    readText(app, "import_path", where, path, complaints);
    if (!found->is_string())
        return;
    if (const std::string problem = path.empty() ? importPathProblem("") : importPathProblem(path);
        !problem.empty())
        complaints.add(where + ".import_path", problem, "value_error", *found);
}

void readRuntimeEnv(const Value &app, const std::string &where, ServeAppConfig &config,
                    Complaints &complaints)
{
    const auto found = app.find("runtime_env");
    if (found == app.end())
        return;
    if (!found->is_object()) {
        complaints.add(where + ".runtime_env", "Input should be a valid dictionary", "dict_type", *found);
        return;
    }
    const auto variables = found->find("env_vars");
    if (variables == found->end() || !variables->is_object())
        return;
    for (const auto &[name, value] : variables->items()) {
        if (value.is_string())
            config.variables[name] = value.get<std::string>();
    }
}

void readDeployments(const Value &app, const std::string &where, ServeAppConfig &config,
                     Complaints &complaints)
{
    const auto found = app.find("deployments");
    if (found == app.end())
        return;
    if (!found->is_array()) {
        complaints.add(where + ".deployments", "Input should be a valid list", "list_type", *found);
        return;
    }
    std::size_t index = 0;
    for (const Value &deployment : *found) {
        const std::string at = where + ".deployments." + std::to_string(index++);
        if (!deployment.is_object()) {
            complaints.add(at, "Input should be a valid dictionary or instance of DeploymentSchema",
                           "model_type", deployment);
        } else if (!deployment.contains("name")) {
            complaints.add(at + ".name", "Field required", "missing", deployment);
        } else if (!deployment["name"].is_string()) {
            complaints.add(at + ".name", "Input should be a valid string", "string_type", deployment["name"]);
        } else {
            config.deployments[deployment["name"].get<std::string>()] = plain(deployment);
        }
    }
}

ServeAppConfig readApp(const Value &app, std::size_t index, Complaints &complaints)
{
    ServeAppConfig config;
    const std::string where = "applications." + std::to_string(index);
    if (!app.is_object()) {
        complaints.add(where, "Input should be a valid dictionary or instance of ServeApplicationSchema",
                       "model_type", app);
        return config;
    }
    readText(app, "name", where, config.name, complaints);
    readRoute(app, where, config.routePrefix, complaints);
    readImportPath(app, where, config.importPath, complaints);
    readRuntimeEnv(app, where, config, complaints);
    readDeployments(app, where, config, complaints);
    if (const auto arguments = app.find("args"); arguments != app.end()) {
        if (arguments->is_object())
            config.arguments = plain(*arguments);
        else
            complaints.add(where + ".args", "Input should be a valid dictionary", "dict_type", *arguments);
    }
    config.given = json::object();
    for (const char *field : knownFields) {
        if (app.contains(field))
            config.given[field] = plain(app[field]);
    }
    config.given["name"] = config.name;
    return config;
}

/// The same name or route twice, which the schema checks for the whole list.
std::string duplicateProblem(const std::vector<ServeAppConfig> &apps)
{
    std::set<std::string> names, prefixes;
    for (const ServeAppConfig &app : apps) {
        if (!names.insert(app.name).second)
            return "Value error, Found duplicate applications with the name \"" + app.name
                + "\". Please ensure each application's name is unique.";
        if (!app.routePrefix.empty() && !prefixes.insert(app.routePrefix).second)
            return "Value error, Found duplicate applications for route prefix \"" + app.routePrefix
                + "\". Please ensure each application's route_prefix is unique.";
    }
    return {};
}

void readHttpOptions(const Value &body, ServeConfig &config, Complaints &complaints)
{
    const auto options = body.find("http_options");
    if (options == body.end() || !options->is_object())
        return;
    const auto port = options->find("port");
    if (port == options->end())
        return;
    const bool isPort = port->is_number_integer() && *port >= 1 && *port <= 65535;
    if (isPort)
        config.port = port->get<unsigned short>();
    else
        complaints.add("http_options.port", "Input should be a valid integer", "int_type", *port);
}

void readProxyLocation(const Value &body, ServeConfig &config, Complaints &complaints)
{
    const auto location = body.find("proxy_location");
    if (location == body.end())
        return;
    const std::string text = location->is_string() ? location->get<std::string>() : "";
    if (text == "EveryNode" || text == "HeadOnly" || text == "Disabled")
        config.proxyLocation = text;
    else
        complaints.add("proxy_location", "Input should be 'Disabled', 'HeadOnly' or 'EveryNode'", "enum",
                       *location);
}

} // namespace

bool ServeAppConfig::hasSameCode(const ServeAppConfig &other) const
{
    return importPath == other.importPath && arguments == other.arguments && routePrefix == other.routePrefix
        && given.value("runtime_env", json()) == other.given.value("runtime_env", json());
}

tl::expected<ServeConfig, ServeConfigProblem> parseServeConfig(std::string_view text)
{
    // Deep nesting would exhaust the stack of whoever walks it.
    const Value::parser_callback_t isShallow
        = [](int depth, Value::parse_event_t, Value &) { return depth < 100; };
    const Value body = Value::parse(text, isShallow, false);
    if (body.is_discarded())
        return tl::unexpected(ServeConfigProblem{
            500,
            "Traceback (most recent call last):\n  slipway-ray, in place of Ray's dashboard, read the body\n"
            "json.decoder.JSONDecodeError: Expecting a JSON document: line 1 column 1 (char 0)"});
    Complaints complaints;
    ServeConfig config;
    const auto apps = body.is_object() ? body.find("applications") : body.end();
    if (!body.is_object()) {
        return tl::unexpected(ServeConfigProblem{
            500,
            "Traceback (most recent call last):\nTypeError: ray.serve.schema.ServeDeploySchema() "
            "argument after ** must be a mapping, not "
                + pythonType(body)});
    }
    if (apps == body.end())
        complaints.add("applications", "Field required", "missing", body);
    else if (!apps->is_array())
        complaints.add("applications", "Input should be a valid list", "list_type", *apps);
    else
        for (const Value &app : *apps)
            config.apps.push_back(readApp(app, config.apps.size(), complaints));
    readHttpOptions(body, config, complaints);
    readProxyLocation(body, config, complaints);
    if (complaints.isEmpty()) {
        if (const std::string problem = duplicateProblem(config.apps); !problem.empty())
            complaints.add("applications", problem, "value_error", *apps);
    }
    if (!complaints.isEmpty())
        return tl::unexpected(ServeConfigProblem{400, complaints.text()});
    return config;
}

} // namespace cluster::local
