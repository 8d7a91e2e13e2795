#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tests {

using nlohmann::json;

inline json shell(const std::string &script)
{
    return {{"name", "main"}, {"image", "busybox:1.36"}, {"command", {"sh", "-c", script}}};
}

inline json podOf(json container, const char *policy = "Always")
{
    return {{"containers", json::array({std::move(container)})},
            {"restartPolicy", policy},
            {"terminationGracePeriodSeconds", 30}};
}

inline json firstStatus(const json &pod)
{
    const json list = pod["status"].value("containerStatuses", json::array());
    return list.empty() ? json::object() : list[0];
}

inline std::string waitingReasonOf(const json &pod)
{
    return firstStatus(pod).value(json::json_pointer("/state/waiting/reason"), std::string());
}

} // namespace tests
