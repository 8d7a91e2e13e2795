#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

namespace slipway_adapter {

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

void readSurroundings(Options &options)
{
    options.address = variable("POD_IP");
    if (options.address.starts_with("10.")) // a manifest may set it to the pod's address in the cluster
        options.address.replace(0, 3, "127.");
    options.metadataHost = variable("GCE_METADATA_HOST");
    if (options.googleUrl.empty())
        options.googleUrl = variable("SLIPWAY_GOOGLE_URL");
    options.googleCaFile = variable("SLIPWAY_GOOGLE_CA_FILE");
    options.kubeUrl
        = "https://" + variable("KUBERNETES_SERVICE_HOST") + ":" + variable("KUBERNETES_SERVICE_PORT");
    // Where the pod has no mounts of its own, its paths are below a folder.
    options.accountFolder = variable("SLIPWAY_ROOT") + "/var/run/secrets/kubernetes.io/serviceaccount";
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, int &exitStatus)
{
    Options options;
    bool isNewModel = false, usesContainers = false, hasDistributions = false, listsAll = false;
    std::string ignored;
    CLI::App app("The Custom Metrics Stackdriver Adapter's part on the local target. Started in its pod.");
    app.name("slipway-metrics-adapter");
    app.set_version_flag("--version", "slipway-metrics-adapter " SLIPWAY_VERSION);
    app.add_flag("--use-new-resource-model", isNewModel, "Must be set: the other model is Heapster's");
    app.add_flag("--fallback-for-container-metrics", usesContainers,
                 "Metrics of containers where pods have none: none are collected here");
    app.add_flag("--enable-custom-metrics-api", options.servesCustom)->capture_default_str();
    app.add_flag("--enable-external-metrics-api", options.servesExternal)->capture_default_str();
    app.add_flag("--enable-distribution-support", hasDistributions, "Is refused");
    app.add_flag("--list-full-custom-metrics", listsAll, "One metric is listed in any case");
    app.add_option("--stackdriver-endpoint", options.googleUrl, "Address of Google's side");
    app.add_option("--secure-port", options.port)->capture_default_str();
    app.add_option("--v,-v", ignored, "How much is logged: always the same");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &wrong) {
        exitStatus = app.exit(wrong) == 0 ? 0 : 2;
        return std::nullopt;
    }
    readSurroundings(options);
    if (!isNewModel || hasDistributions) {
        std::fprintf(stderr, "slipway-metrics-adapter: %s\n",
                     isNewModel
                         ? "distributions are not done by the local target: leave out "
                           "--enable-distribution-support"
                         : "only the new resource model is known: set --use-new-resource-model=true, as "
                           "adapter_new_resource_model.yaml does");
        exitStatus = 2;
        return std::nullopt;
    }
    return options;
}

} // namespace slipway_adapter
