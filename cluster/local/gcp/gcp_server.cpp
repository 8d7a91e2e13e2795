#include "cluster/local/gcp/gcp_server.h"

#include "cluster/local/gcp/automatic_pools.h"
#include "cluster/local/gcp/caller_gate.h"
#include "cluster/local/gcp/container_service.h"
#include "cluster/local/gcp/fault_service.h"
#include "cluster/local/gcp/google_services.h"
#include "cluster/local/gcp/host_faults.h"
#include "cluster/local/gcp/quotas.h"
#include "cluster/local/gcp/request_gate.h"
#include "cluster/local/gcp/storage_service.h"
#include "cluster/local/gcp/workload_identity.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <map>

namespace asio = boost::asio;

namespace cluster::local {

namespace {

constexpr const char *kFaultPrefix = "slipway";
constexpr std::chrono::seconds kFaultRetry{3};

/// Clients of storage put these right behind the host, whatever prefix they were told: the whole path is
/// storage's.
bool isBareStorage(const ServerRequest &request)
{
    if (request.segments.empty())
        return false;
    const std::string &first = request.segments.front();
    return first == "upload" || first == "resumable" || first == "download";
}

std::string prefixOf(const ServerRequest &request)
{
    if (isBareStorage(request))
        return "storage";
    return request.segments.empty() ? std::string() : request.segments.front();
}

/// What the service sees.
std::span<const std::string> pathOf(const ServerRequest &request)
{
    const std::span<const std::string> path(request.segments);
    return isBareStorage(request) ? path : path.subspan(1);
}

GoogleError badJson(const std::exception &error)
{
    return {ErrorCode::InvalidArgument, std::string("Invalid JSON payload received. ") + error.what(),
            nlohmann::json::array(), 0};
}

} // namespace

class GcpServer::Private
{
public:
    Private(GcpOptions options, std::unique_ptr<Documents> store, ClusterHost &clusterHost);
    ~Private() { stop(); }

    GcpService *serviceOf(const ServerRequest &request);
    void answer(const std::shared_ptr<ServerExchange> &exchange, GcpService &service);
    void serve(const std::shared_ptr<ServerExchange> &exchange, GcpService &service);
    void faultsChanged();
    void handFaultsOn(); ///< on a worker; again later, as long as a cluster can't take them
    void stop();

    std::unique_ptr<Documents> documents;
    Faults faults;
    Quotas quotas;
    GcpContext context;
    AccessTokens tokens;
    WorkloadIdentity identities;
    RequestGate gate;
    CallerGate callers;
    std::map<std::string, std::unique_ptr<GcpService>> services;
    ContainerService *container = nullptr;
    std::unique_ptr<HostFaults> hostFaults;
    std::atomic<bool> isStopped = false;
    asio::thread_pool workers;
};

GcpServer::Private::Private(GcpOptions options, std::unique_ptr<Documents> store, ClusterHost &clusterHost)
    : documents(std::move(store)), faults(*documents), quotas(*documents, ComputeCatalog::builtIn(), nullptr),
      context{*documents,
              faults,
              quotas,
              options.now ? std::move(options.now)
                          : WallClock([] { return std::chrono::system_clock::now(); }),
              options.timeFactor,
              options.projectId,
              options.projectNumber,
              options.bucketsDir,
              options.metrics},
      identities(context, tokens), gate(faults, tokens, context.now, options.token), callers(context),
      workers(static_cast<std::size_t>(std::max(1, options.workers)))
{
    auto made = std::make_unique<ContainerService>(context, clusterHost);
    container = made.get();
    services["container"] = std::move(made);
    services[kFaultPrefix] = std::make_unique<FaultService>(context);
    for (MountedService &mounted : makeGoogleServices(context))
        services[mounted.prefix] = std::move(mounted.service);
    hostFaults = std::make_unique<HostFaults>(faults, container->store(), clusterHost);
    faults.onChange([this] { faultsChanged(); });
}

void GcpServer::Private::faultsChanged()
{
    documents->setFull(faults.find(FaultKind::DiskFull, {}).has_value());
    if (!isStopped)
        asio::post(workers, [this] { handFaultsOn(); });
}

void GcpServer::Private::handFaultsOn()
{
    if (hostFaults->synchronize() || isStopped)
        return;
    const auto timer = std::make_shared<asio::steady_timer>(workers, kFaultRetry);
    timer->async_wait([this, timer](const boost::system::error_code &error) {
        if (!error && !isStopped)
            handFaultsOn();
    });
}

void GcpServer::Private::stop()
{
    if (isStopped.exchange(true))
        return;
    for (const auto &[prefix, service] : services)
        service->stop();
    workers.stop(); // answers that wait (latency on order) are given up: their clients see the connection end
    workers.join();
}

GcpService *GcpServer::Private::serviceOf(const ServerRequest &request)
{
    const auto found = services.find(prefixOf(request));
    return found == services.end() ? nullptr : found->second.get();
}

/// On a worker.
void GcpServer::Private::answer(const std::shared_ptr<ServerExchange> &exchange, GcpService &service)
{
    const ServerRequest &request = exchange->request();
    auto verdict = gate.judge(request, prefixOf(request));
    CallerGate::Verdict limits{std::move(verdict.refusal), {}};
    if (!limits.refusal && verdict.caller)
        limits = callers.judge(*verdict.caller, prefixOf(request), request, pathOf(request));
    const auto proceed = [this, exchange, &service, limits = std::move(limits)] {
        if (limits.refusal)
            exchange->reply(service.errorFor(*limits.refusal));
        else if (limits.answer)
            exchange->reply(*limits.answer);
        else
            serve(exchange, service);
    };
    if (verdict.delay.count() == 0)
        return proceed();
    // Not by sleeping: a few slow answers must not hold up all others.
    const auto timer = std::make_shared<asio::steady_timer>(workers, verdict.delay);
    timer->async_wait([timer, proceed](const boost::system::error_code &) { proceed(); });
}

void GcpServer::Private::serve(const std::shared_ptr<ServerExchange> &exchange, GcpService &service)
{
    try {
        service.serve(exchange, pathOf(exchange->request()));
    } catch (const nlohmann::json::exception &error) {
        exchange->reply(service.errorFor(badJson(error)));
    } catch (const std::exception &error) {
        exchange->reply(
            service.errorFor({ErrorCode::Internal, std::string("Internal error encountered: ") + error.what(),
                              nlohmann::json::array(), 0}));
    }
}

GcpServer::GcpServer(std::unique_ptr<Private> d) : d(std::move(d)) {}
GcpServer::~GcpServer() = default;

Result<std::unique_ptr<GcpServer>> GcpServer::open(GcpOptions options, ClusterHost &host)
{
    if (options.token.empty() || options.timeFactor <= 0)
        return fail(ErrorCode::InvalidArgument,
                    "Google's side of the local target needs a token, and a time factor above 0");
    auto documents = Documents::open(options.database);
    if (!documents)
        return tl::unexpected(documents.error());
    auto d = std::make_unique<Private>(std::move(options), std::move(*documents), host);
    const auto project = Projects(d->context).ensureFirst();
    if (!project)
        return fail(project.error().code, project.error().message);
    return std::unique_ptr<GcpServer>(new GcpServer(std::move(d)));
}

void GcpServer::start()
{
    d->faultsChanged(); // those that are on order from the last time
    for (const auto &[prefix, service] : d->services)
        service->start();
}

bool GcpServer::takes(const ServerRequest &request) const
{
    return d->serviceOf(request) != nullptr;
}

std::shared_ptr<BodySink> GcpServer::openSink(const ServerRequest &request) const
{
    GcpService *service = d->serviceOf(request);
    if (!service || d->isStopped)
        return nullptr;
    if (!d->gate.hasToken(request)) {
        const auto caller = d->gate.callerOf(request);
        if (!caller || d->callers.judge(*caller, prefixOf(request), request, pathOf(request)).refusal)
            return nullptr;
    }
    return service->openSink(request, pathOf(request));
}

void GcpServer::handle(std::shared_ptr<ServerExchange> exchange)
{
    GcpService *service = d->serviceOf(exchange->request());
    if (!service || d->isStopped) {
        exchange->reply(service ? service->errorFor({ErrorCode::Unavailable, "The local target is stopping.",
                                                     nlohmann::json::array(), 0})
                                : unknownMethodResponse(exchange->request()));
        return;
    }
    asio::post(d->workers,
               [d = d.get(), exchange = std::move(exchange), service] { d->answer(exchange, *service); });
}

void GcpServer::stop()
{
    d->stop();
}

std::unique_ptr<PoolScaler> GcpServer::scaler(const std::string &clusterId,
                                              std::function<std::vector<PoolSpec>()> pools,
                                              const CancelToken &cancel)
{
    return std::make_unique<AutomaticPools>(d->container->parts(), clusterId, std::move(pools), cancel);
}

BucketObjects &GcpServer::bucketObjects()
{
    return dynamic_cast<StorageService &>(*d->services.at("storage")).files();
}

PodIdentities &GcpServer::podIdentities()
{
    return d->identities;
}

GcpContext &GcpServer::context()
{
    return d->context;
}

} // namespace cluster::local
