#include "cluster/local/network/service_ports.h"

#include "cluster/local/network/join_set.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/tcp_dialer.h"
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

} // namespace

struct ServicePorts::Private : std::enable_shared_from_this<ServicePorts::Private>
{
    Private(asio::io_context &context, ServiceTable &table) : io(context), services(table) {}

    asio::io_context &io;
    ServiceTable &services;
    std::map<Key, std::shared_ptr<tcp::acceptor>> acceptors;
    std::map<Key, std::string> problems;
    JoinSet joins;
    std::size_t dialling = 0;
    bool isClosed = false;

    void update();
    void open(const ServicePort &port);
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
        problems[key] = "service " + port.service + " can't be reached from this machine at "
            + endpoint.address().to_string() + ":" + std::to_string(port.port) + ": " + error.message();
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

ServicePorts::ServicePorts(asio::io_context &io, ServiceTable &services)
    : m_p(std::make_shared<Private>(io, services))
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

std::vector<std::string> ServicePorts::problems() const
{
    std::vector<std::string> lines;
    for (const auto &[key, line] : m_p->problems)
        lines.push_back(line);
    return lines;
}

std::size_t ServicePorts::listening() const
{
    return m_p->acceptors.size();
}

} // namespace cluster::local
