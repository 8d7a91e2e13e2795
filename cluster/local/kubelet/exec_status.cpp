#include "cluster/local/kubelet/exec_status.h"

#include "cluster/local/nodeagent/pod_access.h"
#include <nlohmann/json.hpp>

namespace cluster::local {

std::string execStatusText(const ProcessEnd &end)
{
    if (!end.error.empty())
        return "Internal error occurred: error executing command in container: " + end.error;
    if (end.exitCode != 0)
        return "command terminated with non-zero exit code: exit status " + std::to_string(end.exitCode);
    return {};
}

std::string execStatus(const ProcessEnd &end)
{
    nlohmann::json status{{"metadata", nlohmann::json::object()}};
    const std::string message = execStatusText(end);
    if (message.empty()) {
        status["status"] = "Success";
        return status.dump();
    }
    status["status"] = "Failure";
    status["message"] = message;
    nlohmann::json cause;
    if (end.error.empty()) {
        status["reason"] = "NonZeroExitCode";
        cause = {{"reason", "ExitCode"}, {"message", std::to_string(end.exitCode)}};
    } else {
        status["reason"] = "InternalError";
        status["code"] = 500;
        cause = {{"message", "error executing command in container: " + end.error}};
    }
    status["details"]["causes"] = nlohmann::json::array({cause});
    return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace cluster::local
