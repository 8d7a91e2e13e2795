#include "app/slipwayd/daemon.h"

#include "app/slipwayd/control_service.h"
#include "cluster/httpd/http_listener.h"
#include "cluster/local/controlplane/certificate_folder.h"
#include "cluster/local/controlplane/control_plane_programs.h"
#include "cluster/local/daemon/daemon_state.h"
#include "cluster/local/files/whole_files.h"
#include "cluster/local/gcp/gcp_server.h"
#include "cluster/local/gcp/pod_identities.h"
#include "cluster/local/metrics/managed_prometheus.h"
#include "cluster/local/metrics/prometheus_program.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <spdlog/spdlog.h>
#include <thread>
#include <unistd.h>

namespace slipwayd {

namespace local = cluster::local;
using cluster::Result;
using cluster::Status;

namespace {

/// The system's certificates and ours in one file, for programs that take only one.
Status writeBundle(const local::LocalPaths &paths, const std::string &authorityPem)
{
    std::string bundle;
    for (const char *file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                             "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
        if (const auto text = local::readWholeFile(file, std::size_t{8} << 20)) {
            bundle = *text;
            break;
        }
    }
    if (!bundle.empty() && bundle.back() != '\n')
        bundle += '\n';
    return local::writeWholeFile(paths.caBundle(), bundle + authorityPem);
}

Result<cluster::TlsIdentity> tlsIdentity(const local::LocalPaths &paths)
{
    const auto now = std::chrono::system_clock::now();
    const auto authority = local::CertificateFolder::open(paths.tls(), "Slipway local target", now);
    if (!authority)
        return tl::unexpected(authority.error());
    local::CertificateSubject subject;
    subject.commonName = "slipwayd";
    subject.dnsNames = {"localhost"};
    subject.addresses = {"127.0.0.1"};
    subject.server = true;
    const auto files = authority->identity("slipwayd", subject, now);
    if (!files)
        return tl::unexpected(files.error());
    if (Status written = writeBundle(paths, authority->authorityPem()); !written)
        return tl::unexpected(written.error());
    return cluster::TlsIdentity{files->pem.certificate, files->pem.key, {}, false};
}

local::LocalClusterSurroundings surroundingsOf(const Options &options, boost::asio::io_context &io,
                                               const std::string &token)
{
    local::LocalClusterSurroundings surroundings(io);
    surroundings.controlPlanePrograms = [own = options.ownProgram] {
        return local::findControlPlanePrograms(local::controlPlaneFolders(own));
    };
    surroundings.programs = options.ownProgram.parent_path();
    surroundings.imagesFile = imagesFile(options);
    surroundings.models = modelsFolder();
    surroundings.userToken = token;
    surroundings.allowsProcesses = options.allowsProcesses;
    surroundings.podman = podmanProgram(options);
    if (options.allowsPodman && surroundings.podman.empty())
        spdlog::warn("podman is allowed, but not in $PATH: its images stay in ImagePullBackOff");
    surroundings.stopIdle = options.stopIdle;
    surroundings.timeFactor = options.speed;
    surroundings.log
        = [](const std::string &cluster, const std::string &text) { spdlog::info("{}: {}", cluster, text); };
    return surroundings;
}

local::ManagedPrometheusOptions metricsOf(const Options &options)
{
    local::ManagedPrometheusOptions setup;
    setup.folder = options.paths.root / "metrics";
    if (const auto program = local::findPrometheus(options.ownProgram))
        setup.program = *program;
    else
        setup.missing = program.error().message;
    setup.log = [](const std::string &text) { spdlog::info("{}", text); };
    return setup;
}

ControlService::Settings settingsOf(const Options &options)
{
    return {options.speed, options.allowsProcesses, options.stopIdle};
}

/// The port that clients know from the last time, if it is free.
Result<std::unique_ptr<cluster::HttpListener>> listen(const Options &options, boost::asio::io_context &io,
                                                      const cluster::TlsIdentity &identity,
                                                      const cluster::HttpListener::Handler &handler,
                                                      const local::GcpServer &gcp)
{
    cluster::ListenerOptions wanted;
    wanted.tls = identity;
    wanted.openSink = [&gcp](const cluster::ServerRequest &request) { return gcp.openSink(request); };
    wanted.port = options.port;
    const auto last = local::readDaemonState(options.paths);
    if (wanted.port == 0 && last)
        wanted.port = last->port;
    auto listener = cluster::HttpListener::open(io, wanted, handler);
    if (listener || options.port != 0 || wanted.port == 0)
        return listener;
    wanted.port = 0;
    return cluster::HttpListener::open(io, wanted, handler);
}

} // namespace

Status runDaemon(const Options &options)
{
    if (Status made = local::makeFolders(options.paths); !made)
        return made;
    const auto lock = local::DaemonLock::take(options.paths);
    if (!lock)
        return tl::unexpected(lock.error());
    const auto token = local::tokenOf(options.paths);
    if (!token)
        return tl::unexpected(token.error());
    const auto identity = tlsIdentity(options.paths);
    if (!identity)
        return tl::unexpected(identity.error());

    boost::asio::io_context io(1);
    local::ManagedPrometheus metrics(metricsOf(options));
    auto surroundings = surroundingsOf(options, io, *token);
    surroundings.metrics = &metrics;
    const auto missing = [programs = surroundings.controlPlanePrograms] {
        const auto found = programs();
        return found ? std::string() : found.error().message;
    };
    local::GcpServer *google = nullptr; // set before any cluster starts
    surroundings.scaler = [&google](const std::string &clusterId, auto pools, const auto &cancel) {
        return google->scaler(clusterId, std::move(pools), cancel);
    };
    surroundings.podIdentities = [&google]() -> local::PodIdentities & { return google->podIdentities(); };
    std::atomic<unsigned short> port = 0; // set before any cluster starts
    surroundings.googleVariables = [&port, bundle = options.paths.caBundle().string()] {
        const std::string url = "https://127.0.0.1:" + std::to_string(port);
        return std::vector<std::pair<std::string, std::string>>{
            {"SLIPWAY_GOOGLE_URL", url},
            {"SLIPWAY_GOOGLE_CA_FILE", bundle},
            {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", bundle},
            {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", url + "/storage/storage/v1/"},
            {"CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING", url + "/monitoring/"}};
    };
    surroundings.bucketObjects = [&google]() -> local::BucketObjects & { return google->bucketObjects(); };
    local::LocalClusters clusters(std::move(surroundings), options.paths.clusters());
    local::GcpOptions setup;
    setup.database = options.paths.documents().string();
    setup.bucketsDir = options.paths.buckets();
    setup.token = *token;
    setup.timeFactor = options.speed;
    setup.metrics = &metrics;
    auto server = local::GcpServer::open(std::move(setup), clusters);
    if (!server)
        return tl::unexpected(server.error());
    local::GcpServer &gcp = **server;
    google = &gcp;

    // Ending takes a while, and needs the io_context meanwhile: on a thread of its own.
    std::jthread ender;
    std::unique_ptr<cluster::HttpListener> listener;
    const auto stop = [&] {
        if (ender.joinable())
            return;
        spdlog::info("stopping");
        ender = std::jthread([&] {
            metrics.stop(); // before those who wait for its answers
            gcp.stop();
            clusters.stop();
            boost::asio::post(io, [&] {
                listener.reset();
                io.stop();
            });
        });
    };
    ControlService control({*token, missing, settingsOf(options), stop}, clusters, metrics);
    auto opened = listen(
        options, io, *identity,
        [&](std::shared_ptr<cluster::ServerExchange> exchange) {
            if (control.takes(exchange->request()))
                control.handle(exchange);
            else
                gcp.handle(std::move(exchange));
        },
        gcp);
    if (!opened)
        return tl::unexpected(opened.error());
    listener = std::move(*opened);
    port = listener->port();
    if (Status told = local::writeDaemonState(options.paths, {::getpid(), listener->port(), SLIPWAY_VERSION});
        !told)
        return told;
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&](const boost::system::error_code &error, int) {
        if (!error)
            stop();
    });
    clusters.resume();
    gcp.start(); // after resume(): its operations look for the clusters
    spdlog::info("serves https://127.0.0.1:{} from {}", listener->port(), options.paths.root.string());
    io.run();
    spdlog::info("stopped");
    return {};
}

} // namespace slipwayd
