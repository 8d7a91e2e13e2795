#include "cluster/local/nodeagent/init/launch_spec.h"

#include <cstdlib>
#include <string_view>

namespace cluster::local {

namespace {

void add(std::string &text, std::string_view key, std::string_view value)
{
    text.append(key).append(1, '\0');
    // A NUL inside of a value can't be handed to a program anyway: it ends there.
    text.append(value.substr(0, value.find('\0'))).append(1, '\0');
}

void take(LaunchSpec &spec, const std::string &key, std::string value)
{
    if (key == "arg") {
        spec.arguments.push_back(std::move(value));
    } else if (key == "env") {
        spec.environment.push_back(std::move(value));
    } else if (key == "cwd") {
        spec.workingFolder = std::move(value);
    } else if (key == "from" || key == "from-ro") {
        spec.mounts.push_back({std::move(value), {}, key == "from-ro"});
    } else if (key == "to") {
        if (!spec.mounts.empty())
            spec.mounts.back().target = std::move(value);
    } else if (key == "host") {
        spec.hostName = std::move(value);
    } else if (key == "root") {
        spec.rootFolder = std::move(value);
    } else if (key == "mounts") {
        spec.ownMounts = value == "1";
    } else if (key == "processes") {
        spec.ownProcesses = value == "1";
    } else if (key == "cgroup") {
        spec.cgroup = std::move(value);
    } else if (key == "processor") {
        spec.processors.push_back(std::atoi(value.c_str()));
    } else if (key == "join") {
        spec.joinPid = std::atoi(value.c_str());
    } else if (key == "terminal") {
        spec.hasTerminal = value == "1";
    } else if (key == "parent") {
        spec.parentPid = std::atoi(value.c_str());
    }
}

} // namespace

std::string encodeLaunch(const LaunchSpec &spec)
{
    std::string text;
    for (const std::string &argument : spec.arguments)
        add(text, "arg", argument);
    for (const std::string &variable : spec.environment)
        add(text, "env", variable);
    add(text, "cwd", spec.workingFolder);
    for (const LaunchMount &mount : spec.mounts) {
        add(text, mount.isReadOnly ? "from-ro" : "from", mount.source);
        add(text, "to", mount.target);
    }
    add(text, "root", spec.rootFolder);
    add(text, "host", spec.hostName);
    add(text, "mounts", spec.ownMounts ? "1" : "0");
    add(text, "processes", spec.ownProcesses ? "1" : "0");
    add(text, "cgroup", spec.cgroup);
    for (const int processor : spec.processors)
        add(text, "processor", std::to_string(processor));
    add(text, "join", std::to_string(spec.joinPid));
    add(text, "terminal", spec.hasTerminal ? "1" : "0");
    add(text, "parent", std::to_string(spec.parentPid));
    return text;
}

LaunchSpec decodeLaunch(const std::string &text)
{
    LaunchSpec spec;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t keyEnd = text.find('\0', at);
        const std::size_t valueEnd = keyEnd == std::string::npos ? keyEnd : text.find('\0', keyEnd + 1);
        if (valueEnd == std::string::npos)
            break;
        take(spec, text.substr(at, keyEnd - at), text.substr(keyEnd + 1, valueEnd - keyEnd - 1));
        at = valueEnd + 1;
    }
    return spec;
}

} // namespace cluster::local
