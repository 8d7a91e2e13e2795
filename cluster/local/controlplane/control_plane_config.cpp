#include "cluster/local/controlplane/control_plane_config.h"

#include <array>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>

namespace cluster::local {
namespace {

using nlohmann::ordered_json;

/// A socket in the working folder: etcd wants HOST:PORT there, and takes all of it for the file's name.
constexpr const char *etcdClients = "unix://client.sock:0";
constexpr const char *etcdPeers = "unix://peer.sock:0";

/// Go's collector: less memory for a little more of the processor. Found by measuring, docs/adr/0004. The
/// server and the store have the large heaps; the others gain nothing below 50, and these two nothing
/// below 25.
constexpr const char *thriftiest = "GOGC=25";
constexpr const char *thrifty = "GOGC=50";

/// Without those that belong to a cloud's own controller manager. Leaving out more saves no memory.
constexpr const char *controllers = "--controllers=*,-node-ipam-controller,-node-route-controller,"
                                    "-service-lb-controller,-cloud-node-lifecycle-controller";

void addAggregation(std::vector<std::string> &arguments)
{
    arguments.insert(
        arguments.end(),
        {"--requestheader-client-ca-file=pki/ca.crt", "--requestheader-allowed-names=front-proxy-client",
         "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
         "--requestheader-extra-headers-prefix=X-Remote-Extra-",
         "--proxy-client-cert-file=pki/front-proxy.crt", "--proxy-client-key-file=pki/front-proxy.key"});
}

bool breaksTokenFile(const std::string &text)
{
    return text.empty() || text.find_first_of(",\"\r\n") != std::string::npos;
}

} // namespace

ProgramLine etcdLine()
{
    return {"etcd",
            {"--name=local", "--data-dir=etcd", std::string("--listen-client-urls=") + etcdClients,
             std::string("--advertise-client-urls=") + etcdClients,
             std::string("--listen-peer-urls=") + etcdPeers,
             std::string("--initial-advertise-peer-urls=") + etcdPeers,
             std::string("--initial-cluster=local=") + etcdPeers, "--quota-backend-bytes=8589934592",
             "--log-level=warn"},
            {thriftiest}};
}

ProgramLine apiServerLine(const ControlPlaneOptions &options, std::uint16_t port)
{
    ProgramLine line{"kube-apiserver",
                     {std::string("--etcd-servers=") + etcdClients,
                      "--secure-port=" + std::to_string(port),
                      "--bind-address=127.0.0.1",
                      "--advertise-address=" + options.advertiseAddress,
                      "--endpoint-reconciler-type=none",
                      "--client-ca-file=pki/ca.crt",
                      "--tls-cert-file=pki/apiserver.crt",
                      "--tls-private-key-file=pki/apiserver.key",
                      "--token-auth-file=tokens.csv",
                      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                      "--service-account-signing-key-file=pki/service-accounts.key",
                      "--service-account-key-file=pki/service-accounts.pub",
                      "--service-cluster-ip-range=" + options.serviceRange,
                      "--authorization-mode=RBAC",
                      "--enable-admission-plugins=ExtendedResourceToleration",
                      "--allow-privileged=true",
                      "--kubelet-preferred-address-types=InternalIP",
                      "--kubelet-client-certificate=pki/kubelet-client.crt",
                      "--kubelet-client-key=pki/kubelet-client.key",
                      "--egress-selector-config-file=egress.yaml",
                      "--profiling=false"},
                     {thriftiest}};
    addAggregation(line.arguments);
    return line;
}

ProgramLine controllerManagerLine()
{
    return {"kube-controller-manager",
            {"--kubeconfig=controller-manager.kubeconfig", "--leader-elect=false", "--secure-port=0",
             "--use-service-account-credentials=true",
             "--service-account-private-key-file=pki/service-accounts.key", "--root-ca-file=pki/ca.crt",
             "--cluster-signing-cert-file=pki/ca.crt", "--cluster-signing-key-file=pki/ca.key",
             "--allocate-node-cidrs=false", "--profiling=false", "--kube-api-qps=100", "--kube-api-burst=200",
             controllers},
            {thrifty}};
}

ProgramLine schedulerLine()
{
    return {"kube-scheduler",
            {"--kubeconfig=scheduler.kubeconfig", "--leader-elect=false", "--secure-port=0",
             "--profiling=false", "--kube-api-qps=100", "--kube-api-burst=200"},
            {thrifty}};
}

ProgramLine rayOperatorLine()
{
    return {"kuberay-operator",
            {"--enable-leader-election=false", "--metrics-addr=0", "--health-probe-bind-address=0",
             "--use-kubernetes-proxy"},
            {thrifty, "KUBECONFIG=ray-operator.kubeconfig"}};
}

Result<std::string> tokenFileText(const std::vector<ControlPlaneToken> &tokens)
{
    std::string text;
    int number = 0;
    for (const ControlPlaneToken &token : tokens) {
        std::string groups;
        for (const std::string &group : token.groups) {
            if (breaksTokenFile(group))
                return fail(ErrorCode::InvalidArgument, "a group of " + token.user + " cannot be written");
            groups += (groups.empty() ? "" : ",") + group;
        }
        if (breaksTokenFile(token.token) || breaksTokenFile(token.user))
            return fail(ErrorCode::InvalidArgument,
                        "the token of '" + token.user + "' is empty or holds a comma, a quote or a line end");
        text += token.token + "," + token.user + ",local-" + std::to_string(++number) + ",\"" + groups
            + "\"\n";
    }
    return text;
}

std::string egressSelectorText(const std::filesystem::path &socket)
{
    ordered_json config{{"apiVersion", "apiserver.k8s.io/v1beta1"}, {"kind", "EgressSelectorConfiguration"}};
    ordered_json &selections = config["egressSelections"] = ordered_json::array();
    if (!socket.empty()) {
        ordered_json transport{{"uds", {{"udsName", socket.string()}}}};
        ordered_json connection{{"proxyProtocol", "HTTPConnect"}, {"transport", std::move(transport)}};
        selections.push_back({{"name", "cluster"}, {"connection", std::move(connection)}});
    }
    selections.push_back({{"name", "controlplane"}, {"connection", {{"proxyProtocol", "Direct"}}}});
    return config.dump(2) + "\n";
}

std::string kubeconfigText(const std::string &server, const std::string &caFile,
                           const std::string &certificateFile, const std::string &keyFile)
{
    const ordered_json cluster{{"server", server}, {"certificate-authority", caFile}};
    const ordered_json user{{"client-certificate", certificateFile}, {"client-key", keyFile}};
    const ordered_json context{{"cluster", "local"}, {"user", "program"}};
    ordered_json config{{"apiVersion", "v1"}, {"kind", "Config"}, {"current-context", "local"}};
    config["clusters"] = ordered_json::array({{{"name", "local"}, {"cluster", cluster}}});
    config["users"] = ordered_json::array({{{"name", "program"}, {"user", user}}});
    config["contexts"] = ordered_json::array({{{"name", "local"}, {"context", context}}});
    return config.dump(2) + "\n";
}

Result<std::string> firstServiceAddress(const std::string &range)
{
    const std::size_t slash = range.find('/');
    in_addr address{};
    if (slash == std::string::npos || ::inet_pton(AF_INET, range.substr(0, slash).c_str(), &address) != 1)
        return fail(ErrorCode::InvalidArgument, "'" + range + "' is no IPv4 range such as 10.201.0.0/16");
    address.s_addr = htonl(ntohl(address.s_addr) + 1);
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address, text.data(), text.size());
    return std::string(text.data());
}

} // namespace cluster::local
