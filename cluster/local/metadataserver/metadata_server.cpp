#include "cluster/local/metadataserver/metadata_server.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/kube/kube_client.h"
#include "cluster/local/metadataserver/metadata_tree.h"
#include "cluster/local/metadataserver/peer_user.h"
#include "cluster/local/network/address_pool.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::uint16_t usualPort = 80;
constexpr std::size_t workers = 2;
constexpr std::chrono::seconds patience{5}; ///< with the API server
constexpr unsigned firstSubordinateUser = 100000; ///< ids below belong to people and services

/// Of a node without Workload Identity, as GKE creates them.
const std::vector<std::string> nodeScopes{
    "https://www.googleapis.com/auth/devstorage.read_only",
    "https://www.googleapis.com/auth/logging.write",
    "https://www.googleapis.com/auth/monitoring",
    "https://www.googleapis.com/auth/service.management.readonly",
    "https://www.googleapis.com/auth/servicecontrol",
    "https://www.googleapis.com/auth/trace.append",
};
const std::vector<std::string> podScopes{
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/userinfo.email",
};

/// What is kept of a pod.
struct Tenant
{
    std::string nameSpace, serviceAccount, node;
    bool hostNetwork = false;
};

struct OpenPod
{
    std::shared_ptr<const Tenant> tenant;
    Ipv4 address; ///< of the cluster
    std::unique_ptr<HttpListener> listener;
    PodMetadataAccess access;
};

std::string textIn(const json &object, const char *pointer)
{
    const json::json_pointer where(pointer);
    return object.contains(where) && object.at(where).is_string() ? object.at(where).get<std::string>()
                                                                  : std::string();
}

/// Programs of this user, of root, and of users of his containers.
bool isOwn(const ConnectionEnds &ends)
{
    const auto user
        = userOfSocket({ends.remote, ends.local, ends.remotePort, ends.localPort}); // as he sees it
    return !user || *user == 0 || *user == ::geteuid() || *user >= firstSubordinateUser;
}

/// GKE's metadata server's words for what IAM refused.
std::string refusalText(const char *what, const Error &error)
{
    if (error.code != ErrorCode::PermissionDenied)
        return std::string("Unable to generate ") + what + " token; " + error.message + "\n";
    return std::string("Unable to generate ") + what + " token; IAM returned 403 Forbidden: " + error.message
        + "\nThis error could be caused by a missing IAM policy binding on the target IAM service account.\n"
          "For more information, refer to the Workload Identity documentation:\n"
          "\thttps://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity#authenticating_to\n\n";
}

int statusOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::PermissionDenied:
        return 403;
    case ErrorCode::NotFound:
    case ErrorCode::FailedPrecondition:
        return 404;
    default:
        return 500;
    }
}

} // namespace

struct MetadataServer::Private : std::enable_shared_from_this<MetadataServer::Private>
{
    Private(boost::asio::io_context &context, MetadataServerOptions given, KubeClient &kube,
            PodIdentities &pods)
        : io(context), options(std::move(given)), client(kube), identities(pods),
          addresses(options.plan.metadata(), 0)
    {
    }

    boost::asio::io_context &io;
    const MetadataServerOptions options;
    KubeClient &client;
    PodIdentities &identities;
    AddressPool addresses;
    std::mutex mutex; ///< guards pods, which only the io_context's thread changes
    std::map<std::string, OpenPod> pods;
    CancelSource stopping;
    boost::asio::thread_pool pool{workers};

    Result<std::unique_ptr<HttpListener>> listen(Ipv4 address, const std::shared_ptr<const Tenant> &tenant);
    void serve(const std::shared_ptr<ServerExchange> &exchange, const std::shared_ptr<const Tenant> &tenant);
    [[nodiscard]] ServerResponse answer(const ServerRequest &request, const MetadataRequest &wanted,
                                        const Tenant &tenant) const;
    [[nodiscard]] ServerResponse page(const ServerRequest &request, const Tenant &tenant, const json &node,
                                      const PodIdentity &identity) const;
    [[nodiscard]] Result<PodIdentity> identityOf(const Tenant &tenant, const json &node) const;
};

Result<std::unique_ptr<HttpListener>>
MetadataServer::Private::listen(Ipv4 address, const std::shared_ptr<const Tenant> &tenant)
{
    const auto handler = [self = weak_from_this(), tenant](const auto &exchange) {
        if (const auto server = self.lock())
            server->serve(exchange, tenant);
    };
    ListenerOptions wanted;
    wanted.address = onThisMachine(address).text();
    wanted.port = usualPort;
    wanted.limits.maxBodyBytes = 4096;
    wanted.limits.maxHeaderBytes = 16 * 1024;
    wanted.limits.maxConnections = 32;
    wanted.admits = isOwn;
    auto listener = HttpListener::open(io, wanted, handler);
    if (listener)
        return listener;
    wanted.port = 0;
    return HttpListener::open(io, wanted, handler);
}

void MetadataServer::Private::serve(const std::shared_ptr<ServerExchange> &exchange,
                                    const std::shared_ptr<const Tenant> &tenant)
{
    boost::asio::post(pool, [self = shared_from_this(), exchange, tenant] {
        const ServerRequest &request = exchange->request();
        const auto wanted = metadataRequest(request);
        exchange->reply(wanted ? self->answer(request, *wanted, *tenant) : wanted.error());
    });
}

Result<PodIdentity> MetadataServer::Private::identityOf(const Tenant &tenant, const json &node) const
{
    PodIdentity identity;
    identity.project = options.project;
    identity.location = options.location;
    identity.cluster = options.cluster;
    identity.nameSpace = tenant.nameSpace;
    identity.serviceAccount = tenant.serviceAccount;
    const bool isGkes = textIn(node, "/metadata/labels/iam.gke.io~1gke-metadata-server-enabled") == "true";
    if (!isGkes || tenant.hostNetwork)
        return identity;
    identity.workloadPool = options.workloadPool();
    KubeCallOptions call;
    call.cancel = stopping.get_token();
    call.deadline = Deadline::after(patience);
    const auto account = client.get(coreV1("serviceaccounts", tenant.nameSpace, tenant.serviceAccount), call);
    if (!account)
        return fail(account.error().code,
                    "failed to look up the Kubernetes service account: " + account.error().message);
    identity.googleAccount = textIn(*account, "/metadata/annotations/iam.gke.io~1gcp-service-account");
    return identity;
}

ServerResponse MetadataServer::Private::answer(const ServerRequest &request, const MetadataRequest &wanted,
                                               const Tenant &tenant) const
{
    const json node = options.node(tenant.node);
    const auto identity = identityOf(tenant, node);
    if (!identity)
        return metadataAnswer(500, identity.error().message + "\n");
    switch (wanted.kind) {
    case MetadataRequest::Kind::AccessToken: {
        const auto token = identities.accessToken(*identity);
        if (!token)
            return metadataAnswer(statusOf(token.error().code), refusalText("access", token.error()));
        const json body{{"access_token", token->text},
                        {"expires_in", token->lifetime.count() - 1},
                        {"token_type", "Bearer"}};
        return metadataAnswer(200, body.dump(), "application/json");
    }
    case MetadataRequest::Kind::IdentityToken: {
        const auto token = identities.identityToken(*identity, wanted.audience);
        if (!token)
            return metadataAnswer(statusOf(token.error().code), refusalText("identity", token.error()));
        return metadataAnswer(200, *token);
    }
    case MetadataRequest::Kind::Page:
        break;
    }
    return page(request, tenant, node, *identity);
}

ServerResponse MetadataServer::Private::page(const ServerRequest &request, const Tenant &tenant,
                                             const json &node, const PodIdentity &identity) const
{
    const auto email = identities.email(identity);
    const auto number = identities.projectNumber(options.project);
    if (!email || !number)
        return metadataAnswer(500, (email ? number.error() : email.error()).message + "\n");
    MetadataFacts facts;
    facts.project = options.project;
    facts.projectNumber = *number;
    facts.zone = textIn(node, "/metadata/labels/topology.kubernetes.io~1zone");
    facts.hostName = tenant.node + "." + facts.zone + ".c." + options.project + ".internal";
    facts.instanceId = textIn(node, "/metadata/annotations/container.googleapis.com~1instance_id");
    facts.clusterName = options.cluster;
    facts.clusterLocation = options.location;
    facts.clusterUid = options.clusterUid;
    facts.email = *email;
    facts.scopes = identity.workloadPool.empty() ? nodeScopes : podScopes;
    return metadataPage(request, facts);
}

MetadataServer::MetadataServer(boost::asio::io_context &io, MetadataServerOptions options, KubeClient &client,
                               PodIdentities &identities)
    : m_p(std::make_shared<Private>(io, std::move(options), client, identities))
{
}

MetadataServer::~MetadataServer()
{
    {
        const std::scoped_lock lock(m_p->mutex);
        m_p->pods.clear();
    }
    m_p->stopping.request_stop();
    m_p->pool.join();
}

Result<PodMetadataAccess> MetadataServer::open(const PodSpec &pod)
{
    if (const auto found = m_p->pods.find(pod.uid); found != m_p->pods.end())
        return found->second.access;
    const auto address = m_p->addresses.allocate();
    if (!address)
        return tl::unexpected(address.error());
    OpenPod opened;
    const std::string account = textIn(*pod.object, "/spec/serviceAccountName");
    opened.tenant = std::make_shared<const Tenant>(
        Tenant{pod.nameSpace, account.empty() ? "default" : account, pod.node, pod.hostNetwork});
    opened.address = *address;
    auto listener = m_p->listen(*address, opened.tenant);
    if (!listener) {
        m_p->addresses.release(*address);
        return fail(listener.error().code, "no metadata server for the pod: " + listener.error().message);
    }
    opened.listener = std::move(*listener);
    const std::string local = onThisMachine(*address).text();
    const std::uint16_t port = opened.listener->port();
    const std::string host = port == usualPort ? local : local + ":" + std::to_string(port);
    // The first is what most libraries know; Python's pings the second, and gcloud goes by the third.
    opened.access.variables = m_p->options.variables();
    for (const char *name : {"GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"})
        opened.access.variables.emplace_back(name, host);
    opened.access.hosts = local + "\tmetadata.google.internal metadata\n";
    const std::scoped_lock lock(m_p->mutex);
    return m_p->pods.emplace(pod.uid, std::move(opened)).first->second.access;
}

void MetadataServer::close(const std::string &uid)
{
    const std::scoped_lock lock(m_p->mutex);
    const auto found = m_p->pods.find(uid);
    if (found == m_p->pods.end())
        return;
    m_p->addresses.release(found->second.address);
    m_p->pods.erase(found);
}

Result<PodIdentity> MetadataServer::identityOf(const std::string &uid)
{
    std::shared_ptr<const Tenant> tenant;
    {
        const std::scoped_lock lock(m_p->mutex);
        if (const auto found = m_p->pods.find(uid); found != m_p->pods.end())
            tenant = found->second.tenant;
    }
    if (!tenant)
        return fail(ErrorCode::NotFound, "the pod " + uid + " has no metadata server");
    return m_p->identityOf(*tenant, m_p->options.node(tenant->node));
}

} // namespace cluster::local
