#include "cluster/local/nodeagent/image_table.h"

#include <algorithm>
#include <fnmatch.h>
#include <fstream>
#include <sstream>
#include <yaml-cpp/yaml.h>

namespace cluster::local {

namespace {

std::string joinedCommand(const ContainerSpec &container)
{
    std::string text;
    for (const std::string &word : container.command)
        text += (text.empty() ? "" : " ") + word;
    for (const std::string &word : container.args)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

Result<RuntimeKind> runtimeKind(const std::string &name)
{
    if (name == "slipway-engine")
        return RuntimeKind::Engine;
    if (name == "built-in")
        return RuntimeKind::BuiltIn;
    if (name == "slipway-ray")
        return RuntimeKind::Ray;
    if (name == "simulated")
        return RuntimeKind::Simulated;
    if (name == "process")
        return RuntimeKind::Process;
    if (name == "podman")
        return RuntimeKind::Podman;
    return fail(ErrorCode::InvalidArgument,
                "there is no runtime '" + name
                    + "'; there are slipway-engine, slipway-ray, built-in, simulated, process and podman");
}

constexpr const char *processHint
    = "to run its command on this machine, start the local target with --allow-processes; to run the image "
      "itself, "
      "install podman and start it with --allow-podman; to see it Running without a process, set the pod's "
      "annotation slipway.dev/runtime: simulated";

} // namespace

std::string imageRepository(std::string_view image)
{
    image = image.substr(0, image.find('@'));
    const std::size_t slash = image.rfind('/');
    const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
    image = image.substr(0, colon);
    for (const std::string_view prefix : {"docker.io/", "index.docker.io/", "library/"}) {
        if (image.starts_with(prefix))
            image.remove_prefix(prefix.size());
    }
    return std::string(image);
}

Result<ImageTable> ImageTable::read(const std::filesystem::path &file, RuntimesAllowed allowed)
{
    std::ifstream stream(file);
    std::stringstream text;
    if (!(text << stream.rdbuf()))
        return fail(ErrorCode::NotFound, "can't read the table of images '" + file.string() + "'");
    auto table = parse(text.str(), allowed);
    if (!table)
        return fail(table.error().code, file.string() + ": " + table.error().message);
    return table;
}

Result<ImageTable> ImageTable::parse(const std::string &yaml, RuntimesAllowed allowed)
{
    ImageTable table;
    table.m_allowed = allowed;
    try {
        const YAML::Node root = YAML::Load(yaml);
        for (const YAML::Node &item : root["rules"]) {
            Rule rule;
            rule.image = item["image"].as<std::string>();
            const auto kind = runtimeKind(item["runtime"].as<std::string>());
            if (!kind)
                return fail(kind.error().code,
                            "line " + std::to_string(item.Mark().line + 1) + ": " + kind.error().message);
            rule.choice.kind = *kind;
            if (item["command"])
                rule.command = std::regex(item["command"].as<std::string>());
            rule.choice.program = item["program"].as<std::string>("");
            if (*kind == RuntimeKind::BuiltIn && rule.choice.program.empty())
                return fail(ErrorCode::InvalidArgument,
                            "line " + std::to_string(item.Mark().line + 1) + ": built-in needs a `program`");
            rule.choice.standIn = item["stand_in"].as<std::string>("");
            rule.choice.entrypoint
                = item["entrypoint"].as<std::vector<std::string>>(std::vector<std::string>{});
            table.m_rules.push_back(std::move(rule));
        }
    } catch (const YAML::Exception &error) {
        return fail(ErrorCode::InvalidArgument,
                    "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    } catch (const std::regex_error &error) {
        return fail(ErrorCode::InvalidArgument,
                    std::string("a rule's command is no regular expression: ") + error.what());
    }
    if (table.m_rules.empty())
        return fail(ErrorCode::InvalidArgument, "there are no rules in it");
    return table;
}

Result<RuntimeChoice> ImageTable::choose(const ContainerSpec &container, const std::string &wanted) const
{
    if (wanted == "simulated")
        return RuntimeChoice{RuntimeKind::Simulated, "no process, as the pod's annotation asks", {}, {}};
    const std::string repository = imageRepository(container.image);
    const std::string command = joinedCommand(container);
    RuntimeChoice choice{RuntimeKind::Process, {}, {}, {}};
    for (const Rule &rule : m_rules) {
        if (::fnmatch(rule.image.c_str(), repository.c_str(), 0) != 0)
            continue;
        if (rule.command && !std::regex_search(command, *rule.command))
            continue;
        choice = rule.choice;
        break;
    }
    if (wanted == "process")
        choice.kind = RuntimeKind::Process;
    // The image itself is better than its command on this machine's own programs.
    if (wanted == "podman"
        || (choice.kind == RuntimeKind::Process && m_allowed.podman && wanted != "process"))
        choice.kind = RuntimeKind::Podman;
    if (choice.kind == RuntimeKind::Podman && m_allowed.podman)
        return choice;
    if (choice.kind == RuntimeKind::Podman)
        return fail(ErrorCode::NotFound,
                    "podman shall run it, which is not installed or not allowed; "
                        + std::string(processHint));
    if (choice.kind != RuntimeKind::Process)
        return choice;
    if (!m_allowed.process)
        return fail(ErrorCode::NotFound, "nothing on this machine plays it; " + std::string(processHint));
    if (container.command.empty() && choice.entrypoint.empty())
        return fail(
            ErrorCode::NotFound,
            "its entrypoint is inside the image, which is not pulled here; give the container a command");
    return choice;
}

bool ImageTable::isSimulated(const PodSpec &pod) const
{
    return std::all_of(pod.containers.begin(), pod.containers.end(), [&](const ContainerSpec &container) {
        if (container.role == ContainerRole::Ephemeral)
            return true; // as what it was added to
        const auto choice = choose(container, pod.runtime);
        return choice && choice->kind == RuntimeKind::Simulated;
    });
}

} // namespace cluster::local
