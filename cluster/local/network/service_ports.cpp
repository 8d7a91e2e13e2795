#include "cluster/local/network/service_ports.h"

#include "cluster/local/network/join_set.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/tcp_dialer.h"
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

namespace cluster::local {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t maxConnections = 4096; // through all ports together
constexpr std::chrono::seconds connectTimeout{10};
constexpr std::chrono::milliseconds acceptPause{100}; // when the process has no descriptors left

using Key = std::pair<Ipv4, std::uint16_t>;

/// What is in the way, and what helps.
std::string openFailure(const tcp::endpoint &endpoint, const boost::system::error_code &error)
{
    std::string text = "port " + std::to_string(endpoint.port())
        + " is not forwarded: " + endpoint.address().to_string() + ":" + std::to_string(endpoint.port())
        + " can't be opened (" + error.message() + "). ";
    if (error == boost::system::errc::permission_denied)
        text
            += "Only root may open ports below 1024 (or all, by sysctl net.ipv4.ip_unprivileged_port_start); "
               "give the Service a port from 1024 on. ";
    return text + "kubectl port-forward and the API server's proxy reach it all the same";
}

} // namespace

struct ServicePorts::Private : std::enable_shared_from_this<ServicePorts::Private>
{
    Private(asio::io_context &context, ServiceTable &table, ProblemHandler handler)
        : io(context), services(table), onProblem(std::move(handler))
    {
    }

    asio::io_context &io;
    ServiceTable &services;
    std::map<Key, std::shared_ptr<tcp::acceptor>> acceptors;
    const ProblemHandler onProblem;
    std::map<Key, ServiceProblem> problems; ///< of ports that could not be opened
    std::vector<ServiceProblem> otherProtocols;
    JoinSet joins;
    std::size_t dialling = 0;
    bool isClosed = false;

    void update();
    void updateOtherProtocols();
    void open(const ServicePort &port);
    void say(const Key &key, ServiceProblem problem);
    void accept(const Key &key, const std::shared_ptr<tcp::acceptor> &acceptor);
    void connected(const Key &key, tcp::socket socket);
    void close();
};

void ServicePorts::Private::update()
{
    if (isClosed)
        return;
    std::map<Key, ServicePort> wanted;
    for (const ServicePort &port : services.ports())
        wanted.emplace(Key{port.clusterIp, port.port}, port);
    std::erase_if(acceptors, [&wanted](const auto &entry) {
        const bool isGone = !wanted.contains(entry.first);
        if (isGone) {
            boost::system::error_code ignored;
            entry.second->close(ignored);
        }
        return isGone;
    });
    std::erase_if(problems, [&wanted](const auto &entry) { return !wanted.contains(entry.first); });
    for (const auto &[key, port] : wanted) {
        if (!acceptors.contains(key))
            open(port);
    }
    updateOtherProtocols();
}

void ServicePorts::Private::updateOtherProtocols()
{
    auto now = services.portsOfOtherProtocols();
    for (const ServiceProblem &problem : now) {
        if (onProblem && std::ranges::find(otherProtocols, problem) == otherProtocols.end())
            onProblem(problem);
    }
    otherProtocols = std::move(now);
}

void ServicePorts::Private::say(const Key &key, ServiceProblem problem)
{
    const auto known = problems.find(key);
    const bool isNew = known == problems.end() || known->second != problem;
    problems[key] = problem;
    if (isNew && onProblem)
        onProblem(problem);
}

void ServicePorts::Private::open(const ServicePort &port)
{
    const Key key{port.clusterIp, port.port};
    const tcp::endpoint endpoint(asio::ip::address_v4(onThisMachine(port.clusterIp).value), port.port);
    auto acceptor = std::make_shared<tcp::acceptor>(io);
    boost::system::error_code error;
    acceptor->open(tcp::v4(), error);
    if (!error)
        acceptor->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error)
        acceptor->bind(endpoint, error);
    if (!error)
        acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error) {
        say(key, services.problemOf(port.clusterIp, openFailure(endpoint, error)));
        return;
    }
    problems.erase(key);
    acceptors[key] = acceptor;
    accept(key, acceptor);
}

void ServicePorts::Private::accept(const Key &key, const std::shared_ptr<tcp::acceptor> &acceptor)
{
    acceptor->async_accept(
        [self = weak_from_this(), key, acceptor](const boost::system::error_code &error, tcp::socket socket) {
            const auto ports = self.lock();
            if (!ports || ports->isClosed || !acceptor->is_open())
                return;
            if (!error) {
                ports->connected(key, std::move(socket));
                ports->accept(key, acceptor);
                return;
            }
            const auto timer = std::make_shared<asio::steady_timer>(ports->io, acceptPause);
            timer->async_wait([self, key, acceptor, timer](const boost::system::error_code &) {
                const auto later = self.lock();
                if (later && !later->isClosed && acceptor->is_open())
                    later->accept(key, acceptor);
            });
        });
}

void ServicePorts::Private::connected(const Key &key, tcp::socket socket)
{
    // Without a ready endpoint, or with too many connections, it is closed: what kube-proxy's REJECT looks
    // like.
    if (joins.size() + dialling >= maxConnections)
        return;
    const Result<DialTarget> target = services.resolve(key.first, key.second);
    if (!target)
        return;
    ++dialling;
    auto client = std::make_shared<std::unique_ptr<ByteStream>>(makeSocketStream(std::move(socket)));
    dial(io.get_executor(), *target, connectTimeout,
         [self = weak_from_this(), client](Result<std::unique_ptr<ByteStream>> server) {
             const auto ports = self.lock();
             if (!ports || ports->isClosed)
                 return;
             --ports->dialling;
             if (server)
                 ports->joins.start(std::move(*client), std::move(*server));
         });
}

void ServicePorts::Private::close()
{
    isClosed = true;
    for (const auto &[key, acceptor] : acceptors) {
        boost::system::error_code ignored;
        acceptor->close(ignored);
    }
    acceptors.clear();
    joins.closeAll();
}

ServicePorts::ServicePorts(asio::io_context &io, ServiceTable &services, ProblemHandler onProblem)
    : m_p(std::make_shared<Private>(io, services, std::move(onProblem)))
{
    services.onChanged([self = m_p->weak_from_this(), &io] {
        asio::post(io, [self] {
            if (const auto ports = self.lock())
                ports->update();
        });
    });
    m_p->update();
}

ServicePorts::~ServicePorts()
{
    m_p->services.onChanged({});
    m_p->close();
}

std::vector<ServiceProblem> ServicePorts::problems() const
{
    std::vector<ServiceProblem> all = m_p->otherProtocols;
    for (const auto &[key, problem] : m_p->problems)
        all.push_back(problem);
    return all;
}

std::size_t ServicePorts::listening() const
{
    return m_p->acceptors.size();
}

} // namespace cluster::local
