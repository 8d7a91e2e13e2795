#include "cluster/local/nodeagent/environment.h"

#include "cluster/local/nodeagent/json_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace cluster::local {

using nlohmann::json;

namespace {

bool isNotFound(const Error &error)
{
    return error.code == ErrorCode::NotFound;
}

/// SERVICE_NAME of a Service called service-name.
std::string variableName(std::string text)
{
    for (char &c : text)
        c = c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

void addService(const json &service, Environment &variables)
{
    const json &spec = fieldOf(service, "spec");
    const std::string address = textOf(spec, "clusterIP");
    if (address.empty() || address == "None" || itemsOf(spec, "ports").empty())
        return;
    const std::string prefix = variableName(textOf(fieldOf(service, "metadata"), "name"));
    const std::string host = localAddress(address);
    variables[prefix + "_SERVICE_HOST"] = host;
    bool isFirst = true;
    for (const json &port : itemsOf(spec, "ports")) {
        const std::string number = std::to_string(numberOf(port, "port"));
        std::string protocol = textOf(port, "protocol", "TCP");
        const std::string upper = protocol;
        std::transform(protocol.begin(), protocol.end(), protocol.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const std::string url = protocol + "://" + host + ":" + number;
        if (isFirst) {
            variables[prefix + "_SERVICE_PORT"] = number;
            variables[prefix + "_PORT"] = url;
        }
        isFirst = false;
        if (const std::string name = textOf(port, "name"); !name.empty())
            variables[prefix + "_SERVICE_PORT_" + variableName(name)] = number;
        const std::string link = prefix + "_PORT_" + number + "_" + upper;
        variables[link] = url;
        variables[link + "_PROTO"] = protocol;
        variables[link + "_PORT"] = number;
        variables[link + "_ADDR"] = host;
    }
}

Environment serviceVariables(const EnvironmentInput &input)
{
    Environment variables;
    const json &links = fieldOf(fieldOf(*input.pod.object, "spec"), "enableServiceLinks");
    if (!links.is_boolean() || links.get<bool>()) {
        for (const json &service : input.services)
            addService(service, variables);
    }
    if (input.apiHost.empty())
        return variables;
    const std::string port = std::to_string(input.apiPort);
    const std::string url = "tcp://" + input.apiHost + ":" + port;
    variables["KUBERNETES_SERVICE_HOST"] = input.apiHost;
    variables["KUBERNETES_SERVICE_PORT"] = port;
    variables["KUBERNETES_SERVICE_PORT_HTTPS"] = port;
    variables["KUBERNETES_PORT"] = url;
    variables["KUBERNETES_PORT_443_TCP"] = url;
    variables["KUBERNETES_PORT_443_TCP_PROTO"] = "tcp";
    variables["KUBERNETES_PORT_443_TCP_PORT"] = port;
    variables["KUBERNETES_PORT_443_TCP_ADDR"] = input.apiHost;
    return variables;
}

/// One key of a Secret or ConfigMap; nothing where it may be missing and is.
Result<std::optional<std::string>> keyOf(const EnvironmentInput &input, const json &reference, bool isSecret)
{
    const std::string name = textOf(reference, "name"), key = textOf(reference, "key");
    const bool isOptional = flagOf(reference, "optional");
    const auto object = input.objectOf(isSecret ? "secrets" : "configmaps", name);
    if (!object) {
        if (isOptional && isNotFound(object.error()))
            return std::nullopt;
        if (isNotFound(object.error()))
            return fail(ErrorCode::NotFound,
                        (isSecret ? "secret \"" : "configmap \"") + name + "\" not found");
        return tl::unexpected(object.error());
    }
    const json &value = fieldOf(fieldOf(*object, "data"), key);
    if (value.is_string())
        return isSecret ? decodeBase64(value.get<std::string>()) : value.get<std::string>();
    if (isOptional)
        return std::nullopt;
    return fail(ErrorCode::NotFound,
                "couldn't find key " + key + " in " + (isSecret ? "Secret " : "ConfigMap ")
                    + input.pod.nameSpace + "/" + name);
}

Result<std::optional<std::string>> referredValue(const EnvironmentInput &input, const json &from)
{
    const auto some = [](Result<std::string> value) -> Result<std::optional<std::string>> {
        if (!value)
            return tl::unexpected(value.error());
        return std::optional(*value);
    };
    if (const json &field = fieldOf(from, "fieldRef"); field.is_object())
        return some(
            fieldReference(input.pod, textOf(field, "fieldPath"), input.podAddress, input.hostAddress));
    if (const json &resource = fieldOf(from, "resourceFieldRef"); resource.is_object())
        return some(
            resourceReference(input.pod, resource, input.pod.containers[input.container].name, input.node));
    if (const json &secret = fieldOf(from, "secretKeyRef"); secret.is_object())
        return keyOf(input, secret, true);
    if (const json &map = fieldOf(from, "configMapKeyRef"); map.is_object())
        return keyOf(input, map, false);
    return std::nullopt;
}

Status addAll(const EnvironmentInput &input, const json &source, Environment &variables)
{
    const bool isSecret = fieldOf(source, "secretRef").is_object();
    const json &reference = fieldOf(source, isSecret ? "secretRef" : "configMapRef");
    const std::string name = textOf(reference, "name");
    const auto object = input.objectOf(isSecret ? "secrets" : "configmaps", name);
    if (!object) {
        if (isNotFound(object.error()) && flagOf(reference, "optional"))
            return {};
        if (isNotFound(object.error()))
            return fail(ErrorCode::NotFound,
                        (isSecret ? "secret \"" : "configmap \"") + name + "\" not found");
        return tl::unexpected(object.error());
    }
    const json &data = fieldOf(*object, "data");
    if (!data.is_object())
        return {};
    for (const auto &[key, value] : data.items()) {
        if (value.is_string())
            variables[textOf(source, "prefix") + key]
                = isSecret ? decodeBase64(value.get<std::string>()) : value.get<std::string>();
    }
    return {};
}

const json &containerObject(const EnvironmentInput &input)
{
    const json &spec = fieldOf(*input.pod.object, "spec");
    const std::string &name = input.pod.containers[input.container].name;
    for (const char *list : {"initContainers", "containers", "ephemeralContainers"}) {
        for (const json &container : itemsOf(spec, list)) {
            if (textOf(container, "name") == name)
                return container;
        }
    }
    return fieldOf(spec, "");
}

bool asksForChips(const json &container)
{
    const json &resources = fieldOf(container, "resources");
    for (const char *list : {"limits", "requests"}) {
        if (parseQuantity(fieldOf(fieldOf(resources, list), "google.com/tpu")).value_or(0) > 0)
            return true;
    }
    return false;
}

} // namespace

std::string localAddress(const std::string &address)
{
    return address.starts_with("10.") ? "127." + address.substr(3) : address;
}

std::string expandReferences(const std::string &text, const Environment &environment)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 >= text.size()) {
            result += text[i];
            continue;
        }
        if (text[i + 1] == '$') {
            result += '$';
            ++i;
            continue;
        }
        const std::size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
        if (end == std::string::npos) {
            result += '$';
            continue;
        }
        const auto found = environment.find(text.substr(i + 2, end - i - 2));
        result += found == environment.end() ? text.substr(i, end - i + 1) : found->second;
        i = end;
    }
    return result;
}

Result<Environment> containerEnvironment(const EnvironmentInput &input)
{
    const json &container = containerObject(input);
    Environment variables;
    for (const json &source : itemsOf(container, "envFrom")) {
        if (auto added = addAll(input, source, variables); !added)
            return tl::unexpected(added.error());
    }
    const Environment services = serviceVariables(input);
    for (const json &entry : itemsOf(container, "env")) {
        const std::string name = textOf(entry, "name");
        const json &from = fieldOf(entry, "valueFrom");
        if (!from.is_object()) {
            Environment known = services;
            for (const auto &[key, value] : variables)
                known[key] = value;
            variables[name] = expandReferences(textOf(entry, "value"), known);
            continue;
        }
        auto value = referredValue(input, from);
        if (!value)
            return tl::unexpected(value.error());
        if (*value)
            variables[name] = **value;
    }
    variables.insert(services.begin(), services.end()); // the container's own win
    if (asksForChips(container)) {
        const Environment chips = tpuEnvironment(input.node);
        variables.insert(chips.begin(), chips.end());
    }
    return variables;
}

} // namespace cluster::local
