// What the local target's streams are made of, with this machine's shell as every container, for the scripts
// beside it. Prints one line of JSON with where everything is, then obeys lines of JSON on standard input
// (objects for the table of services) until that ends.

#include "cluster/kube/kube_client.h"
#include "cluster/local/controlplane/certificates.h"
#include "cluster/local/controlplane/control_plane.h"
#include "cluster/local/controlplane/control_plane_programs.h"
#include "cluster/local/kubelet/kubelet_server.h"
#include "cluster/local/kubelet/metrics_api.h"
#include "cluster/local/network/address_claim.h"
#include "cluster/local/network/egress_proxy.h"
#include "cluster/local/network/service_ports.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/service_watch.h"
#include "cluster/local/nodeagent/node_agent.h"
#include "shell_pods.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

using namespace cluster;
using namespace cluster::local;
using Json = nlohmann::json;

namespace {

constexpr const char *kubeletClient = "kube-apiserver-kubelet-client"; // whom a real apiserver comes as

struct Arguments
{
    std::filesystem::path dir;
    std::vector<std::string> pods; // namespace/name=N: the N-th address of the pods' range
    bool hasControlPlane = false; // a real one, which calls us
    std::string images; // a table of images: a node agent has the pods, not the shell
    std::size_t maxSessions = 0, maxLogs = 0; // 0: as by default
};

Arguments parse(int argc, char **argv)
{
    Arguments arguments;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--dir")
            arguments.dir = value;
        else if (name == "--pod")
            arguments.pods.push_back(value);
        else if (name == "--control-plane")
            arguments.hasControlPlane = value == "yes";
        else if (name == "--agent")
            arguments.images = value;
        else if (name == "--max-sessions")
            arguments.maxSessions = std::stoul(value);
        else if (name == "--max-logs")
            arguments.maxLogs = std::stoul(value);
    }
    return arguments;
}

std::string readFile(const std::filesystem::path &path)
{
    std::ifstream file(path, std::ios::binary);
    return {(std::istreambuf_iterator<char>(file)), {}};
}

void writeFile(const std::filesystem::path &path, const std::string &text)
{
    std::ofstream(path, std::ios::binary) << text;
}

template<typename T>
T must(Result<T> result)
{
    if (!result) {
        std::cerr << result.error().message << std::endl;
        std::_Exit(2);
    }
    return std::move(*result);
}

/// Addresses that no other cluster of this machine uses; the local target itself begins with the first.
AddressClaim claimAddresses()
{
    for (int index = AddressPlan::maxClusters - 1; index >= 0; --index) {
        if (auto claim = AddressClaim::take(index))
            return std::move(*claim);
    }
    std::cerr << "all addresses are in use" << std::endl;
    std::_Exit(77);
}

void must(const Status &status)
{
    if (!status) {
        std::cerr << status.error().message << std::endl;
        std::_Exit(2);
    }
}

Json nodes()
{
    return Json::array({{{"metadata", {{"name", "node-1"}, {"labels", {{"pool", "a"}}}}}},
                        {{"metadata", {{"name", "node-2"}, {"labels", {{"pool", "b"}}}}}}});
}

void obey(const Json &line, ServiceTable &table)
{
    if (line.contains("service"))
        table.applyService(line["service"]);
    if (line.contains("slice"))
        table.applyEndpointSlice(line["slice"]);
    if (line.contains("removeService"))
        table.removeService("default", line["removeService"]);
}

/// All servers of one cluster, on their own thread.
class Stand
{
public:
    explicit Stand(const Arguments &a)
        : m_plan(must(AddressPlan::forCluster(m_claim.index()))), m_table(m_plan),
          m_pods(m_io, a.dir / "logs")
    {
        const auto now = std::chrono::system_clock::now();
        std::filesystem::create_directories(a.dir / "logs");
        auto authority = must(CertificateAuthority::create("stand", now));
        const PemPair server = must(authority.issue(
            {"kubelet", {}, {"localhost", "metrics-server.kube-system.svc"}, {"127.0.0.1"}, true}, now));
        const PemPair client = must(authority.issue({kubeletClient, {}, {}, {}, false}, now));
        const PemPair stranger = must(authority.issue({"stranger", {}, {}, {}, false}, now));
        writeFile(a.dir / "client.crt", client.certificate);
        writeFile(a.dir / "client.key", client.key);
        const PemPair front = must(authority.issue({"front-proxy-client", {}, {}, {}, false}, now));
        writeFile(a.dir / "front.crt", front.certificate);
        writeFile(a.dir / "front.key", front.key);
        writeFile(a.dir / "stranger.crt", stranger.certificate);
        writeFile(a.dir / "stranger.key", stranger.key);
        writeFile(a.dir / "ca.crt", authority.pem().certificate);
        if (a.hasControlPlane)
            startControlPlane(a);
        const std::string clientCa
            = a.hasControlPlane ? readFile(m_endpoint.kubeletClientCa) : authority.pem().certificate;
        for (const std::string &pod : a.pods) {
            const std::size_t slash = pod.find('/');
            const std::size_t equals = pod.find('=');
            const Ipv4 address{m_plan.pods().first.value
                               + static_cast<std::uint32_t>(std::stoul(pod.substr(equals + 1)))};
            m_pods.add(pod.substr(0, slash), pod.substr(slash + 1, equals - slash - 1),
                       onThisMachine(address).text());
        }
        if (a.hasControlPlane)
            m_client = std::make_unique<KubeClient>(
                m_http, KubeEndpoint{m_endpoint.url, m_endpoint.caFile, m_endpoint.adminToken, {}, {}});
        if (!a.images.empty())
            m_agent = std::make_unique<NodeAgent>(m_io, *m_client, agentOptions(a));
        PodAccess &pods = m_agent ? m_agent->access() : m_pods;
        KubeletServerOptions kubelet{m_plan, 0, server.certificate, server.key, clientCa, kubeletClient};
        kubelet.maxSessions = a.maxSessions != 0 ? a.maxSessions : kubelet.maxSessions;
        kubelet.maxLogs = a.maxLogs != 0 ? a.maxLogs : kubelet.maxLogs;
        m_kubelet = std::make_unique<KubeletServer>(m_io, kubelet, pods, [this](Ipv4 address) {
            const bool isKnown = address.value - m_plan.nodes().first.value == 0x105; // 10.x.1.5
            return isKnown ? std::optional<std::string>("node-1") : std::nullopt;
        });
        must(m_kubelet->listen());
        EgressProxyOptions egress{(a.dir / "egress.sock").string(), m_plan, m_kubelet->address()};
        m_egress = std::make_unique<EgressProxy>(m_io, egress, m_table);
        must(m_egress->listen());
        m_ports = std::make_unique<ServicePorts>(m_io, m_table);
        MetricsApiOptions metrics{m_plan, server.certificate, server.key, authority.pem().certificate,
                                  clientCa};
        m_metrics = std::make_unique<MetricsApi>(m_io, metrics, pods, nodes);
        must(m_metrics->listen());
    }

    /// To be called while the io_context runs.
    void joinControlPlane()
    {
        m_watch = std::make_unique<ServiceWatch>(*m_client, m_table);
        m_table.pin(m_plan.kubernetesService(), 443, {Ipv4{0x7F000001}, m_endpoint.port, {}});
        must(m_metrics->registerWith(*m_client));
        if (!m_agent)
            return;
        std::promise<Status> started;
        boost::asio::post(m_io, [&] { started.set_value(m_agent->start()); });
        must(started.get_future().get());
    }

    [[nodiscard]] Json description(const Arguments &a) const
    {
        return {{"index", m_plan.index()},
                {"kubeletPort", m_kubelet->address().port},
                {"metrics",
                 onThisMachine(m_plan.controlPlane()).text() + ":" + std::to_string(m_metrics->port())},
                {"egressSocket", (a.dir / "egress.sock").string()},
                {"node", Ipv4{m_plan.nodes().first.value + 0x105}.text()},
                {"otherNode", Ipv4{m_plan.nodes().first.value + 0x106}.text()},
                {"url", m_endpoint.url},
                {"caFile", m_endpoint.caFile.string()},
                {"token", m_endpoint.adminToken}};
    }

    boost::asio::io_context &io() { return m_io; }
    ServiceTable &table() { return m_table; }

private:
    [[nodiscard]] NodeAgentOptions agentOptions(const Arguments &a) const
    {
        NodeAgentOptions options;
        options.folder = a.dir / "agent";
        options.imagesFile = a.images;
        options.podCidr = m_plan.pods().text();
        options.kubernetesServiceHost = "127.0.0.1";
        options.kubernetesServicePort = m_endpoint.port;
        options.allowProcess = true;
        return options;
    }

    void startControlPlane(const Arguments &a)
    {
        const auto programs = findControlPlanePrograms(controlPlaneFolders({}), false, false);
        if (!programs) {
            std::cerr << programs.error().message << std::endl;
            std::_Exit(77);
        }
        ControlPlaneOptions options;
        options.name = "streams";
        options.dir = a.dir / "plane";
        options.programs = *programs;
        options.egressSocket = a.dir / "egress.sock";
        options.serviceRange = m_plan.services().text();
        options.advertiseAddress = m_plan.controlPlane().text();
        options.controllers = false;
        options.ray = false;
        options.startTimeout = std::chrono::seconds(300);
        m_plane = std::make_unique<ControlPlane>(options);
        m_endpoint = must(m_plane->start());
    }

    std::unique_ptr<ControlPlane> m_plane;
    ControlPlaneEndpoint m_endpoint;
    boost::asio::io_context m_io{1};
    AddressClaim m_claim = claimAddresses();
    AddressPlan m_plan;
    ServiceTable m_table;
    ShellPods m_pods;
    HttpClient m_http;
    std::unique_ptr<KubeClient> m_client;
    std::unique_ptr<NodeAgent> m_agent;
    std::unique_ptr<KubeletServer> m_kubelet;
    std::unique_ptr<EgressProxy> m_egress;
    std::unique_ptr<ServicePorts> m_ports;
    std::unique_ptr<MetricsApi> m_metrics;
    std::unique_ptr<ServiceWatch> m_watch;
};

} // namespace

int main(int argc, char **argv)
{
    ::signal(SIGPIPE, SIG_IGN);
    const Arguments arguments = parse(argc, argv);
    Stand stand(arguments);
    auto guard = boost::asio::make_work_guard(stand.io());
    std::thread thread([&stand] { stand.io().run(); });
    if (arguments.hasControlPlane)
        stand.joinControlPlane();
    std::cout << stand.description(arguments).dump() << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
        const Json command = Json::parse(line, nullptr, false);
        obey(command, stand.table());
        std::cout << "ok" << std::endl;
    }
    guard.reset();
    stand.io().stop();
    thread.join();
    return 0;
}
