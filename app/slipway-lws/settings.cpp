#include "app/slipway-lws/settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <yaml-cpp/yaml.h>

namespace slipway_lws {

using cluster::ErrorCode;
using cluster::fail;
using cluster::Result;
using cluster::Status;
namespace fs = std::filesystem;

namespace {

constexpr const char *accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char *name)
{
    const char *value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

/// Where the container's mounts are, on machines that can't give a process its own.
fs::path inContainer(const fs::path &path)
{
    const fs::path root = variable("SLIPWAY_ROOT");
    return root.empty() ? path : root / path.relative_path();
}

std::optional<std::string> textOfFile(const fs::path &file)
{
    std::ifstream stream(file);
    if (!stream)
        return std::nullopt;
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
    return text;
}

/// ":8081" or "1.2.3.4:8081": all pods share this machine, so only the port is taken.
unsigned short portOf(const std::string &address, unsigned short otherwise)
{
    const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
    return port > 0 && port < 65536 ? static_cast<unsigned short>(port) : otherwise;
}

Status readAccount(Settings &settings)
{
    const fs::path folder = inContainer(accountFolder);
    const auto token = textOfFile(folder / "token");
    const std::string host = variable("KUBERNETES_SERVICE_HOST"), port = variable("KUBERNETES_SERVICE_PORT");
    if (!token || host.empty() || port.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "not in a pod: there is no service account in " + folder.string()
                        + " or no $KUBERNETES_SERVICE_HOST; install LeaderWorkerSet with kubectl apply");
    settings.endpoint.url = "https://" + host + ":" + port;
    settings.endpoint.caFile = (folder / "ca.crt").string();
    // The API server takes a pod's token for a year, though the file is renewed each hour.
    settings.endpoint.token = *token;
    settings.endpoint.userAgent = "lws/v0.10.0 (slipway)";
    settings.nameSpace = textOfFile(folder / "namespace").value_or("lws-system");
    return {};
}

Status readConfig(const fs::path &file, Settings &settings)
{
    try {
        const YAML::Node config = YAML::LoadFile(file.string());
        const auto text = [&](const char *part, const char *key, const std::string &otherwise) {
            return config[part] && config[part][key] ? config[part][key].as<std::string>() : otherwise;
        };
        settings.elects = text("leaderElection", "leaderElect", "true") != "false";
        settings.makesCertificate = text("internalCertManagement", "enable", "true") != "false";
        auto &names = settings.certificate;
        names.service = text("internalCertManagement", "webhookServiceName", names.service);
        names.secret = text("internalCertManagement", "webhookSecretName", names.secret);
        auto &ports = settings.endpoints;
        ports.probePort = portOf(text("health", "healthProbeBindAddress", {}), ports.probePort);
        ports.metricsPort = portOf(text("metrics", "bindAddress", {}), ports.metricsPort);
        ports.webhookPort = portOf(text("webhook", "port", {}), ports.webhookPort);
    } catch (const YAML::Exception &error) {
        return fail(ErrorCode::InvalidArgument,
                    file.string() + ": line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
    return {};
}

/// "--name=value" or "--name value"; a switch alone is "true".
std::optional<std::string> flag(const std::vector<std::string> &arguments, const std::string &name)
{
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        for (const std::string &dashes : {std::string("-"), std::string("--")}) {
            if (arguments[i].starts_with(dashes + name + "="))
                return arguments[i].substr(dashes.size() + name.size() + 1);
            if (arguments[i] == dashes + name)
                return i + 1 < arguments.size() && !arguments[i + 1].starts_with('-') ? arguments[i + 1]
                                                                                      : "true";
        }
    }
    return std::nullopt;
}

} // namespace

Result<Settings> settingsOf(const std::vector<std::string> &arguments)
{
    Settings settings;
    if (Status read = readAccount(settings); !read)
        return tl::unexpected(read.error());
    if (const auto file = flag(arguments, "config")) {
        if (Status read = readConfig(inContainer(*file), settings); !read)
            return tl::unexpected(read.error());
    }
    auto &ports = settings.endpoints;
    if (const auto elects = flag(arguments, "leader-elect"))
        settings.elects = *elects != "false";
    if (const auto address = flag(arguments, "health-probe-bind-address"))
        ports.probePort = portOf(*address, ports.probePort);
    if (const auto address = flag(arguments, "metrics-bind-address"))
        ports.metricsPort = portOf(*address, ports.metricsPort);
    settings.certificate.nameSpace = settings.nameSpace;
    settings.podName = variable("HOSTNAME");
    ports.address = variable("POD_IP");
    if (ports.address.empty())
        ports.address = "127.0.0.1";
    return settings;
}

} // namespace slipway_lws
