#include "cluster/local/runtimes/ray/serve_apps.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace cluster::local {

using nlohmann::json;

namespace {

/// "a.b.stable_diffusion_tpu:deployment" -> "stable_diffusion_tpu:deployment": where the module lies in a
/// working_dir says nothing of what it is.
std::string lastOfPath(const std::string &importPath)
{
    const std::size_t colon = std::min(importPath.find(':'), importPath.size());
    const std::size_t dot = importPath.rfind('.', colon);
    return dot == std::string::npos ? importPath : importPath.substr(dot + 1);
}

std::string moduleOf(const std::string &importPath)
{
    const std::size_t colon = importPath.find(':');
    return importPath.substr(0, colon == std::string::npos ? importPath.rfind('.') : colon);
}

/// The tutorial's two deployments: FastAPI in front, the model behind it.
AppBlueprint imagine(const std::string &model, RayResources resources, json arguments)
{
    DeploymentBlueprint behind;
    behind.name = model;
    behind.role = ServeRole::ImagineModel;
    behind.resources = std::move(resources);
    behind.arguments = arguments;
    behind.maxOngoing = arguments.value("batch", 1) > 1 ? 128 : 5;
    DeploymentBlueprint front;
    front.name = "APIIngress";
    front.role = ServeRole::ImagineIngress;
    front.maxOngoing = 128;
    front.outbound = {model};
    front.arguments = std::move(arguments);
    return {{behind, front}, front.name};
}

/// stable_diffusion.py: one picture at a time on one GPU, of the size that is asked for.
AppBlueprint imagineOnGpu()
{
    return imagine("StableDiffusionV2", {{"CPU", 1}, {"GPU", 1}},
                   {{"batch", 1}, {"batch_wait_seconds", 0}, {"seconds", 2.0}, {"takes_size", true}});
}

/// stable_diffusion_tpu.py: up to 64 prompts gathered for up to 10 s, then always 64 pictures at once.
AppBlueprint imagineOnTpu()
{
    return imagine("StableDiffusion", {{"CPU", 1}, {"TPU", 4}},
                   {{"batch", 64}, {"batch_wait_seconds", 10}, {"seconds", 1.0}, {"takes_size", false}});
}

struct LanguageModel
{
    std::string id;
    int tensorParallel = 1;
    int maxLength = 0; ///< 0: the model's own
    bool onTpu = false;
    json deploymentConfig = json::object();
};

/// "google/gemma-2.1" -> "google--gemma-2_1", as Ray Serve LLM names deployments.
std::string cleanModelId(const std::string &id)
{
    std::string clean;
    for (const char c : id)
        clean += c == '/' ? std::string("--") : std::string(1, c == '.' ? '_' : c);
    return clean;
}

AppBlueprint languageModels(const std::vector<LanguageModel> &models)
{
    AppBlueprint app;
    DeploymentBlueprint front;
    front.name = app.ingress = "OpenAiIngress";
    front.role = ServeRole::LlmIngress;
    front.maxOngoing = 1'000'000'000;
    front.arguments["models"] = json::array();
    ServeAutoscaling one;
    one.targetOngoing = 1'000'000'000;
    front.autoscaling = one;
    for (const LanguageModel &model : models) {
        DeploymentBlueprint behind;
        behind.name = "LLMServer:" + cleanModelId(model.id);
        behind.role = ServeRole::LlmServer;
        constexpr int chipsPerHost = 4;
        if (model.onTpu) {
            behind.resources["TPU"] = std::min(model.tensorParallel, chipsPerHost);
            behind.shards = (model.tensorParallel - 1) / chipsPerHost;
        }
        behind.maxOngoing = 1'000'000'000;
        behind.autoscaling = one;
        behind.arguments = {{"model_id", model.id}, {"tensor_parallel_size", model.tensorParallel}};
        applyDeploymentConfig(model.deploymentConfig, behind);
        front.outbound.push_back(behind.name);
        front.arguments["models"].push_back(
            {{"id", model.id}, {"max_length", model.maxLength}, {"deployment", behind.name}});
        app.deployments.push_back(std::move(behind));
    }
    app.deployments.push_back(std::move(front));
    return app;
}

Result<int> positive(const std::string &name, const std::string &text, int otherwise, int most)
{
    if (text.empty())
        return otherwise;
    int number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || number < 1 || number > most)
        return fail(ErrorCode::InvalidArgument,
                    "ValueError: invalid literal for int() with base 10: '" + text + "' (" + name + ")");
    return number;
}

/// serve_tpu_multihost.py: all of its settings are environment variables.
Result<AppBlueprint> tpuScript(const ServeAppConfig &config, const RayVariable &variable)
{
    const auto setting = [&](const std::string &name, const std::string &otherwise) {
        const auto own = config.variables.find(name);
        const std::string value = own == config.variables.end() ? variable(name) : own->second;
        return value.empty() ? otherwise : value;
    };
    LanguageModel model;
    model.id = setting("MODEL_ID", "google/gemma-4-31B-it");
    const auto parallel = positive("TENSOR_PARALLEL_SIZE", setting("TENSOR_PARALLEL_SIZE", "16"), 16, 4096);
    const auto length = positive("MAX_MODEL_LEN", setting("MAX_MODEL_LEN", "8192"), 8192, 1 << 24);
    if (!parallel)
        return tl::unexpected(parallel.error());
    if (!length)
        return tl::unexpected(length.error());
    model.tensorParallel = *parallel;
    model.maxLength = *length;
    model.onTpu = true;
    return languageModels({model});
}

/// ray.serve.llm:build_openai_app with its llm_configs.
Result<AppBlueprint> openAiBuilder(const ServeAppConfig &config, const RayVariable &)
{
    const json configs = config.arguments.value("llm_configs", json());
    std::vector<LanguageModel> models;
    if (configs.is_array()) {
        for (const json &one : configs) {
            const json loading = one.is_object() ? one.value("model_loading_config", json()) : json();
            if (!loading.is_object() || !loading.contains("model_id") || !loading["model_id"].is_string())
                continue;
            LanguageModel model;
            model.id = loading["model_id"].get<std::string>();
            const json engine = one.value("engine_kwargs", json::object());
            const auto number = [&engine](const char *name, int otherwise) {
                const bool isThere = engine.is_object() && engine.contains(name)
                    && engine[name].is_number_integer() && engine[name] > 0 && engine[name] < (1 << 24);
                return isThere ? engine[name].get<int>() : otherwise;
            };
            model.tensorParallel = std::min(number("tensor_parallel_size", 1), 4096);
            model.maxLength = number("max_model_len", 0);
            const json accelerator = one.value("accelerator_config", json::object());
            model.onTpu = accelerator.is_object() && accelerator.value("kind", json()) == json("tpu");
            model.deploymentConfig = one.value("deployment_config", json::object());
            models.push_back(std::move(model));
        }
    }
    if (models.empty())
        return fail(ErrorCode::InvalidArgument,
                    "ValueError: List of models is empty. Maybe some required parameters are missing?");
    return languageModels(models);
}

using Builder = std::function<Result<AppBlueprint>(const ServeAppConfig &, const RayVariable &)>;

const std::vector<std::pair<std::string, Builder>> &builders()
{
    static const std::vector<std::pair<std::string, Builder>> all{
        {"stable_diffusion:entrypoint",
         [](const ServeAppConfig &, const RayVariable &) -> Result<AppBlueprint> { return imagineOnGpu(); }},
        {"stable_diffusion_tpu:deployment",
         [](const ServeAppConfig &, const RayVariable &) -> Result<AppBlueprint> { return imagineOnTpu(); }},
        {"serve_tpu_multihost:deployment", tpuScript},
        {"llm:build_openai_app", openAiBuilder},
    };
    return all;
}

} // namespace

void applyDeploymentConfig(const json &config, DeploymentBlueprint &deployment)
{
    if (!config.is_object())
        return;
    constexpr int most = 10'000;
    const auto count = [](const json &from, const char *name, int otherwise) {
        const auto found = from.find(name);
        const bool isCount
            = found != from.end() && found->is_number_integer() && *found >= 0 && *found <= 1'000'000'000;
        return isCount ? found->get<int>() : otherwise;
    };
    if (config.contains("num_replicas") && config["num_replicas"].is_number_integer()) {
        deployment.replicas = std::min(count(config, "num_replicas", deployment.replicas), most);
        deployment.autoscaling.reset();
    }
    deployment.maxOngoing = std::max(1, count(config, "max_ongoing_requests", deployment.maxOngoing));
    if (const auto scaling = config.find("autoscaling_config");
        scaling != config.end() && scaling->is_object()) {
        ServeAutoscaling wanted = deployment.autoscaling.value_or(ServeAutoscaling());
        wanted.minReplicas = std::min(count(*scaling, "min_replicas", wanted.minReplicas), most);
        wanted.maxReplicas
            = std::clamp(count(*scaling, "max_replicas", wanted.maxReplicas), wanted.minReplicas, most);
        if (scaling->contains("initial_replicas"))
            wanted.initialReplicas = count(*scaling, "initial_replicas", wanted.minReplicas);
        const auto seconds = [&scaling](const char *name, double otherwise) {
            const auto found = scaling->find(name);
            return found != scaling->end() && found->is_number() && *found >= 0 ? found->get<double>()
                                                                                : otherwise;
        };
        const double target = seconds("target_ongoing_requests", wanted.targetOngoing);
        wanted.targetOngoing = target > 0 ? target : wanted.targetOngoing;
        wanted.lookBackSeconds = seconds("look_back_period_s", wanted.lookBackSeconds);
        wanted.upscaleDelaySeconds = seconds("upscale_delay_s", wanted.upscaleDelaySeconds);
        wanted.downscaleDelaySeconds = seconds("downscale_delay_s", wanted.downscaleDelaySeconds);
        deployment.autoscaling = wanted;
    }
    const json options = config.value("ray_actor_options", json::object());
    if (!options.is_object())
        return;
    for (const auto &[flag, resource] : {std::pair("num_cpus", "CPU"), std::pair("num_gpus", "GPU")}) {
        if (options.contains(flag) && options[flag].is_number() && options[flag] >= 0)
            deployment.resources[resource] = options[flag].get<double>();
    }
    const json own = options.value("resources", json::object());
    if (!own.is_object())
        return;
    for (const auto &[resource, amount] : own.items()) {
        if (amount.is_number() && amount >= 0)
            deployment.resources[resource] = amount.get<double>();
    }
}

Result<AppBlueprint> appBlueprint(const ServeAppConfig &config, const RayVariable &variable)
{
    const std::string path = lastOfPath(config.importPath);
    const auto &all = builders();
    const auto found
        = std::find_if(all.begin(), all.end(), [&path](const auto &known) { return known.first == path; });
    if (found == all.end()) {
        std::string known;
        for (const auto &[name, builder] : all)
            known += (known.empty() ? "" : ", ") + name;
        return fail(ErrorCode::NotFound,
                    "  slipway-ray stands in for Ray here: it runs no Python, and plays " + known
                        + "\nModuleNotFoundError: No module named '" + moduleOf(config.importPath) + "'");
    }
    auto app = found->second(config, variable);
    if (!app)
        return app;
    for (DeploymentBlueprint &deployment : app->deployments) {
        if (const auto own = config.deployments.find(deployment.name); own != config.deployments.end())
            applyDeploymentConfig(own->second, deployment);
    }
    return app;
}

} // namespace cluster::local
