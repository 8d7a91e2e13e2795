#include "cluster/local/nodeagent/prepared_container.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodeagent/engine_command.h"
#include "cluster/local/nodeagent/engine_group.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/ray_command.h"

#include <algorithm>
#include <fstream>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

ObjectOf reader(const AgentContext &context, const std::string &nameSpace)
{
    return [&context, nameSpace](const std::string &plural, const std::string &name) -> Result<json> {
        KubeCallOptions options;
        options.cancel = context.work.token();
        return context.client.get(coreV1(plural, nameSpace, name), options);
    };
}

json servicesOf(const AgentContext &context, const std::string &nameSpace)
{
    KubeCallOptions options;
    options.cancel = context.work.token();
    KubeListOptions cheap;
    cheap.resourceVersion = "0";
    const auto services = context.client.list(coreV1("services", nameSpace), cheap, options);
    return services ? json(services->items) : json::array();
}

std::string hostNameOf(const PodSpec &pod)
{
    const std::string name = textOf(fieldOf(*pod.object, "spec"), "hostname", pod.name);
    return name.substr(0, 63); // as kubelet cuts it
}

/// Variables that are there before the container's own.
void addDefaults(const PreparationInput &input, const AgentContext &context, Environment &environment)
{
    const std::string address = localAddress(input.podIp);
    environment.emplace("PATH", searchPath);
    environment.emplace("HOME", (input.folder / "home").string());
    environment.emplace("HOSTNAME", hostNameOf(*input.pod));
    environment.emplace("LANG", "C.UTF-8");
    // There is one network: a program that listens on its own address only doesn't meet other pods'.
    environment.emplace("POD_IP", address);
    environment.emplace("HOST", address);
    if (input.pod->containers[input.container].tty)
        environment.emplace("TERM", "xterm");
    for (const auto &[name, value] : input.deviceVariables)
        environment[name] = value;
    for (const auto &[name, value] : input.metadataVariables)
        environment.emplace(name, value);
    // How what an agent left behind is found again.
    environment["SLIPWAY_AGENT"] = context.options.folder.string();
    environment["SLIPWAY_POD"] = input.pod->uid;
}

std::vector<std::string> expanded(const std::vector<std::string> &words, const Environment &environment)
{
    std::vector<std::string> result;
    for (const std::string &word : words)
        result.push_back(expandReferences(word, environment));
    return result;
}

/// As scripts see it: what is not set is empty. \param environment  outlives what is returned
VariableOf variablesOf(const Environment &environment)
{
    return [&environment](const std::string &name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
}

/// Replaces a path and what is below it wherever it stands as a path of its own, in scripts as well.
void replacePath(std::string &text, const std::string &path, const std::string &place)
{
    constexpr std::string_view before = " \t\n\"'=:,;(<>", after = "/ \t\n\"':,;)<>&|";
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
        const std::size_t end = at + path.size();
        const bool isPath = (at == 0 || before.find(text[at - 1]) != std::string_view::npos)
            && (end == text.size() || after.find(text[end]) != std::string_view::npos);
        if (isPath)
            text.replace(at, path.size(), place);
        at += isPath ? place.size() : path.size();
    }
}

/// Without mounts: a folder of links in the shape of the container's, and paths that begin like a mount
/// rewritten to it.
void rewritePaths(const PreparationInput &input, const std::vector<ContainerMount> &mounts,
                  PreparedContainer &container, Environment &environment)
{
    const fs::path root = input.folder / "root" / input.pod->containers[input.container].name;
    std::error_code error;
    for (const ContainerMount &mount : mounts) {
        const std::string inner = fs::path(mount.target).relative_path().lexically_normal().string();
        if (!isInnerPath(inner))
            continue;
        fs::create_directories((root / inner).parent_path(), error);
        fs::remove(root / inner, error);
        fs::create_symlink(mount.source, root / inner, error);
    }
    // The longest mounts first: /data/x before /data.
    const auto rewrite = [&](std::string &text) {
        for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount)
            replacePath(text, mount->target, root.string() + mount->target);
    };
    for (std::string &argument : container.launch.arguments)
        rewrite(argument);
    for (auto &[name, value] : environment)
        rewrite(value);
    rewrite(container.launch.workingFolder);
    environment["SLIPWAY_ROOT"] = root.string();
}

Status addEngine(const AgentContext &context, const PreparationInput &input, const Environment &environment,
                 PreparedContainer &container)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    EngineCommandInput engine;
    engine.command = expanded(spec.command, environment);
    engine.args = expanded(spec.args, environment);
    engine.variable = variablesOf(environment);
    engine.address = localAddress(input.podIp);
    engine.knowsNames = context.isolation.mounts; // an /etc/hosts of their own
    engine.containerPort = spec.ports.empty() ? 0 : spec.ports.front().second;
    engine.program = context.engineProgram;
    engine.modelsFolder = context.options.modelsFolder;
    const auto standIn = standInModel(context.options.modelsFolder, context.options.standInModel);
    if (!standIn)
        return tl::unexpected(standIn.error());
    engine.standIn = *standIn;
    const auto command = engineCommand(engine);
    if (!command)
        return tl::unexpected(command.error());
    container.launch.arguments = command->words;
    if (!command->apiKeys.empty())
        container.launch.environment.push_back("SLIPWAY_API_KEYS=" + command->apiKeys);
    if (!command->groupLeader.empty())
        container.launch.environment.push_back(
            "SLIPWAY_WORKER_TOKEN="
            + groupToken(context.groupSecret, input.pod->nameSpace, command->groupLeader));
    container.port = command->port;
    container.standIn = input.choice.standIn;
    if (const std::size_t mark = container.standIn.find("{model}"); mark != std::string::npos)
        container.standIn.replace(mark, 7, command->model.filename().string());
    return {};
}

/// A program of ours in place of the image's own, which is the command's first word, with the same arguments.
void addBuiltIn(const AgentContext &context, const PreparationInput &input, const Environment &environment,
                PreparedContainer &container)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    container.launch.arguments = {(context.engineProgram.parent_path() / input.choice.program).string()};
    const std::vector<std::string> command = expanded(spec.command, environment);
    for (std::size_t i = 1; i < command.size(); ++i)
        container.launch.arguments.push_back(command[i]);
    for (const std::string &argument : expanded(spec.args, environment))
        container.launch.arguments.push_back(argument);
    container.standIn = input.choice.standIn;
}

/// A node of a Ray cluster, or what waits for one. Its language models are the engine's, with the model that
/// stands in for all.
Status addRay(const AgentContext &context, const PreparationInput &input, const Environment &environment,
              PreparedContainer &container)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    RayCommandInput ray;
    ray.command = expanded(spec.command, environment);
    ray.args = expanded(spec.args, environment);
    ray.variable = variablesOf(environment);
    ray.address = localAddress(input.podIp);
    ray.program = context.rayProgram;
    const auto words = rayCommand(ray);
    if (!words)
        return tl::unexpected(words.error());
    container.launch.arguments = *words;
    std::vector<std::string> &variables = container.launch.environment;
    // Without a model there are pictures and jobs still: an application that needs one says what is missing.
    if (const auto model = standInModel(context.options.modelsFolder, context.options.standInModel)) {
        variables.push_back("SLIPWAY_RAY_ENGINE=" + context.engineProgram.string());
        variables.push_back("SLIPWAY_RAY_MODEL=" + model->string());
    }
    if (context.options.allowProcess)
        variables.emplace_back("SLIPWAY_RAY_JOBS=allowed");
    if (const std::string version = rayVersionOfImage(spec.image); !version.empty())
        variables.push_back("SLIPWAY_RAY_VERSION=" + version);
    container.standIn = input.choice.standIn;
    container.hasOwnLocalhost = true;
    return {};
}

/// A file that programs may leave a last word in.
fs::path messageFile(const PreparationInput &input)
{
    return input.folder / "messages" / input.pod->containers[input.container].name;
}

void addMounts(const AgentContext &context, const PreparationInput &input,
               const std::vector<ContainerMount> &mounts, PreparedContainer &container)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    LaunchSpec &launch = container.launch;
    launch.ownProcesses = context.isolation.processes;
    launch.ownMounts = context.isolation.mounts;
    if (!launch.ownMounts)
        return;
    launch.rootFolder = (input.folder / "rootfs" / spec.name).string();
    std::error_code error;
    fs::create_directories(launch.rootFolder, error);
    launch.hostName = hostNameOf(*input.pod);
    launch.mounts.push_back({(input.folder / "etc" / "hosts").string(), "/etc/hosts", false});
    for (const ContainerMount &mount : mounts)
        launch.mounts.push_back({mount.source.string(), mount.target, mount.isReadOnly});
    if (!spec.messagePath.empty() && spec.messagePath[0] == '/')
        launch.mounts.push_back({messageFile(input).string(), spec.messagePath, false});
}

/// In the container's cgroup where there are any, else on as many processors as its limit allows.
void addLimits(const AgentContext &context, const PreparationInput &input, LaunchSpec &launch)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    if (input.choice.kind == RuntimeKind::Podman)
        return; // has its own
    const std::string name = input.pod->uid + "-" + spec.name;
    if (context.cgroups != nullptr) {
        if (const auto group = context.cgroups->make(name, spec))
            launch.cgroup = group->string();
        return;
    }
    launch.processors = allowedProcessors(spec.cpuLimit, context.processors, std::hash<std::string>()(name));
}

Status addPodman(const AgentContext &context, const PreparationInput &input,
                 const std::vector<ContainerMount> &mounts, const Environment &environment,
                 PreparedContainer &container)
{
    const ContainerSpec &spec = input.pod->containers[input.container];
    container.podman = PodmanContainer{context.options.podman, "slipway-" + input.pod->uid + "-" + spec.name,
                                       podmanEnvironment()};
    if (auto there = preparePodmanImage(context.initProgram, *container.podman, spec); !there)
        return there;
    PodmanRun run{*container.podman,
                  spec,
                  expanded(spec.command, environment),
                  expanded(spec.args, environment),
                  {},
                  {},
                  mounts,
                  input.folder / "etc" / "hosts",
                  hostNameOf(*input.pod),
                  spec.workingDir};
    if (!spec.messagePath.empty() && spec.messagePath[0] == '/')
        run.mounts.push_back({messageFile(input), spec.messagePath, false});
    container.launch.environment = container.podman->environment;
    for (const auto &[name, value] : environment) {
        // These are podman's own, which finds its images by them; the image has its own, unless the pod says
        // else.
        const bool isOurs = name == "LANG" || (name == "PATH" && value == searchPath)
            || (name == "HOME" && value == (input.folder / "home").string());
        const bool isPodmans = name == "PATH" || name == "HOME" || name.starts_with("XDG_");
        if (isOurs)
            continue;
        if (isPodmans) {
            run.plainVariables.push_back(name + "=" + value);
            continue;
        }
        run.variables.push_back(name);
        container.launch.environment.push_back(name + "=" + value);
    }
    container.launch.arguments = podmanRun(run);
    container.launch.workingFolder = (input.folder / "home").string();
    container.standIn = "podman, with the image itself";
    std::error_code error;
    fs::create_directories(input.folder / "home", error);
    fs::create_directories(input.folder / "messages", error);
    if (auto written = std::ofstream(messageFile(input)); !written)
        return fail(ErrorCode::Internal, "can't write below '" + input.folder.string() + "'");
    return {};
}

} // namespace

Result<PreparedContainer> prepareContainer(const AgentContext &context, const PreparationInput &input)
{
    const PodSpec &pod = *input.pod;
    const ContainerSpec &spec = pod.containers[input.container];
    static const json none;
    const json services = servicesOf(context, pod.nameSpace);
    const EnvironmentInput from{pod,
                                input.container,
                                localAddress(input.podIp),
                                localAddress(input.hostIp),
                                input.node ? *input.node : none,
                                services,
                                reader(context, pod.nameSpace),
                                context.options.kubernetesServiceHost,
                                context.options.kubernetesServicePort};
    auto made = containerEnvironment(from);
    if (!made)
        return tl::unexpected(made.error());
    Environment environment = std::move(*made);
    addDefaults(input, context, environment);
    const auto mounts = containerMounts(pod, input.container, input.volumes, environment);
    if (!mounts)
        return tl::unexpected(mounts.error());
    PreparedContainer container;
    addLimits(context, input, container.launch);
    std::error_code error;
    fs::create_directories(input.folder / "home", error);
    fs::create_directories(input.folder / "messages", error);
    container.launch.workingFolder = (input.folder / "home").string();
    if (input.choice.kind == RuntimeKind::Engine) {
        if (auto added = addEngine(context, input, environment, container); !added)
            return tl::unexpected(added.error());
    } else if (input.choice.kind == RuntimeKind::Ray) {
        removeRayVariables(environment);
        if (auto added = addRay(context, input, environment, container); !added)
            return tl::unexpected(added.error());
    } else if (input.choice.kind == RuntimeKind::Podman) {
        if (auto added = addPodman(context, input, *mounts, environment, container); !added)
            return tl::unexpected(added.error());
        return container;
    } else if (input.choice.kind == RuntimeKind::BuiltIn) {
        addBuiltIn(context, input, environment, container);
    } else {
        container.launch.arguments
            = expanded(spec.command.empty() ? input.choice.entrypoint : spec.command, environment);
        for (const std::string &argument : expanded(spec.args, environment))
            container.launch.arguments.push_back(argument);
        if (!spec.workingDir.empty())
            container.launch.workingFolder = spec.workingDir;
    }
    // Emptied before each run: its text belongs to one run.
    if (auto written = std::ofstream(messageFile(input)); !written)
        return fail(ErrorCode::Internal, "can't write below '" + input.folder.string() + "'");
    if (context.isolation.mounts)
        addMounts(context, input, *mounts, container);
    else
        rewritePaths(input, *mounts, container, environment);
    container.launch.ownProcesses = context.isolation.processes;
    for (const auto &[name, value] : environment)
        container.launch.environment.push_back(name + "=" + value);
    return container;
}

std::string hostsText(const PodSpec &pod, const std::string &podAddress, const std::string &names)
{
    const json &spec = fieldOf(*pod.object, "spec");
    std::string text = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
    const std::string host = hostNameOf(pod), subdomain = textOf(spec, "subdomain");
    text += podAddress + "\t";
    if (!subdomain.empty())
        text += host + "." + subdomain + "." + pod.nameSpace + ".svc.cluster.local\t";
    text += host + "\n";
    for (const json &alias : itemsOf(spec, "hostAliases")) {
        text += textOf(alias, "ip");
        for (const std::string &name : textsOf(alias, "hostnames"))
            text += "\t" + name;
        text += "\n";
    }
    return text + names;
}

Result<VolumePaths> preparePodVolumes(const AgentContext &context, const PreparationInput &input,
                                      std::map<std::string, ServiceToken> &tokens)
{
    const PodSpec &pod = *input.pod;
    const std::string account = textOf(fieldOf(*pod.object, "spec"), "serviceAccountName", "default");
    const TokenOf tokenOf = [&](const std::string &audience, std::int64_t seconds) -> Result<ServiceToken> {
        const Time now = std::chrono::system_clock::now();
        ServiceToken &known = tokens[audience + ' ' + std::to_string(seconds)];
        if (!known.token.empty() && now < known.renewAt)
            return known;
        json request{{"apiVersion", "authentication.k8s.io/v1"},
                     {"kind", "TokenRequest"},
                     {"spec",
                      {{"expirationSeconds", seconds},
                       {"boundObjectRef",
                        {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.name}, {"uid", pod.uid}}}}}};
        if (!audience.empty())
            request["spec"]["audiences"] = json::array({audience});
        KubeWriteOptions options;
        options.cancel = context.work.token();
        const auto answer = context.client.create(
            coreV1("serviceaccounts", pod.nameSpace, account).sub("token"), request, options);
        if (!answer)
            return fail(answer.error().code, "failed to fetch token: " + answer.error().message);
        known.token = textOf(fieldOf(*answer, "status"), "token");
        known.renewAt = now + std::chrono::seconds(seconds * 4 / 5);
        return known;
    };
    static const json none;
    VolumesInput volumes{pod,
                         input.folder,
                         context.options.folder / "disks",
                         localAddress(input.podIp),
                         localAddress(input.hostIp),
                         input.node ? *input.node : none,
                         reader(context, pod.nameSpace),
                         reader(context, {}),
                         tokenOf,
                         context.options.hostPaths,
                         context.options.buckets.get(),
                         context.options.diskFolder};
    return prepareVolumes(volumes);
}

} // namespace cluster::local
