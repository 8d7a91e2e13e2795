#include "cluster/local/network/api_front.h"

#include "cluster/local/network/join_set.h"
#include "cluster/local/network/tcp_dialer.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cluster::local {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds pause{100}; // between two dials, and when there are no descriptors left

/// A client that is not joined yet.
struct Knock
{
    explicit Knock(tcp::socket s) : socket(std::move(s)), timer(socket.get_executor()) {}

    tcp::socket socket;
    asio::steady_timer timer; ///< for its first byte; then for the next dial
    bool hasSpoken = false;
    bool isDialling = false;
    std::optional<ApiFront::Clock::time_point> giveUp; ///< set with the first dial that failed
};

using KnockPtr = std::shared_ptr<Knock>;

} // namespace

struct ApiFront::Private : std::enable_shared_from_this<ApiFront::Private>
{
    Private(asio::io_context &context, ApiFrontOptions o, std::function<void()> wanted)
        : io(context), options(o), onWanted(std::move(wanted)), acceptor(context), acceptTimer(context)
    {
    }

    asio::io_context &io;
    const ApiFrontOptions options;
    const std::function<void()> onWanted;
    tcp::acceptor acceptor;
    asio::steady_timer acceptTimer;
    std::optional<DialTarget> target;
    std::set<KnockPtr> knocks;
    JoinSet joins;
    Clock::time_point last;
    bool isClosed = false;

    void accept();
    void take(tcp::socket socket);
    void heard(const KnockPtr &knock);
    void forward(const KnockPtr &knock);
    void dialAgain(const KnockPtr &knock);
    void drop(const KnockPtr &knock);
    void touch() { last = Clock::now(); }
    [[nodiscard]] std::size_t inUse() const;
    void close();
};

void ApiFront::Private::accept()
{
    acceptor.async_accept(
        [self = weak_from_this()](const boost::system::error_code &error, tcp::socket socket) {
            const auto front = self.lock();
            if (!front || front->isClosed)
                return;
            if (!error) {
                front->take(std::move(socket));
                front->accept();
                return;
            }
            front->acceptTimer.expires_after(pause);
            front->acceptTimer.async_wait([self](const boost::system::error_code &) {
                const auto later = self.lock();
                if (later && !later->isClosed)
                    later->accept();
            });
        });
}

void ApiFront::Private::take(tcp::socket socket)
{
    if (knocks.size() + joins.size() >= options.maxConnections)
        return;
    const auto knock = std::make_shared<Knock>(std::move(socket));
    knocks.insert(knock);
    knock->timer.expires_after(options.helloLimit);
    knock->timer.async_wait(
        [self = weak_from_this(), client = std::weak_ptr(knock)](const boost::system::error_code &error) {
            const auto front = self.lock();
            const auto silent = client.lock();
            if (!error && front && silent && !silent->hasSpoken)
                front->drop(silent);
        });
    // One that says nothing, such as a look whether the port is open, wants nothing.
    knock->socket.async_wait(
        tcp::socket::wait_read,
        [self = weak_from_this(), client = std::weak_ptr(knock)](const boost::system::error_code &error) {
            const auto front = self.lock();
            const auto speaking = client.lock();
            if (!front || front->isClosed || !speaking)
                return;
            boost::system::error_code failed = error;
            const std::size_t ready = failed ? 0 : speaking->socket.available(failed);
            if (failed || ready == 0)
                front->drop(speaking);
            else
                front->heard(speaking);
        });
}

void ApiFront::Private::heard(const KnockPtr &knock)
{
    knock->hasSpoken = true;
    knock->timer.cancel();
    touch();
    if (target)
        forward(knock);
    else
        onWanted();
}

void ApiFront::Private::forward(const KnockPtr &knock)
{
    knock->isDialling = true;
    dial(io.get_executor(), *target, options.dialPatience,
         [self = weak_from_this(), knock](Result<std::unique_ptr<ByteStream>> server) {
             const auto front = self.lock();
             if (!front || front->isClosed)
                 return;
             knock->isDialling = false;
             if (!server) {
                 front->dialAgain(knock);
                 return;
             }
             front->knocks.erase(knock);
             front->joins.start(makeSocketStream(std::move(knock->socket)), std::move(*server), [self] {
                 if (const auto later = self.lock())
                     later->touch();
             });
         });
}

void ApiFront::Private::dialAgain(const KnockPtr &knock)
{
    if (!knock->giveUp)
        knock->giveUp = Clock::now() + options.dialPatience;
    if (Clock::now() > *knock->giveUp) {
        drop(knock);
        return;
    }
    knock->isDialling = true; // the pause is part of it: serve() must not dial a second time
    knock->timer.expires_after(pause);
    knock->timer.async_wait([self = weak_from_this(), knock](const boost::system::error_code &) {
        const auto front = self.lock();
        if (!front || front->isClosed || !front->knocks.contains(knock))
            return;
        knock->isDialling = false;
        if (front->target)
            front->forward(knock);
        else
            front->onWanted();
    });
}

void ApiFront::Private::drop(const KnockPtr &knock)
{
    boost::system::error_code ignored;
    knock->timer.cancel();
    knock->socket.close(ignored);
    knocks.erase(knock);
}

std::size_t ApiFront::Private::inUse() const
{
    std::size_t count = joins.size();
    for (const KnockPtr &knock : knocks)
        count += knock->hasSpoken ? 1 : 0;
    return count;
}

void ApiFront::Private::close()
{
    isClosed = true;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    acceptTimer.cancel();
    for (const KnockPtr &knock : std::vector<KnockPtr>(knocks.begin(), knocks.end()))
        drop(knock);
    joins.closeAll();
}

ApiFront::ApiFront(asio::io_context &io, ApiFrontOptions options, std::function<void()> onWanted)
    : m_p(std::make_shared<Private>(io, options, std::move(onWanted)))
{
}

ApiFront::~ApiFront()
{
    m_p->close();
}

Result<std::uint16_t> ApiFront::listen(std::uint16_t port)
{
    boost::system::error_code error;
    tcp::acceptor &acceptor = m_p->acceptor;
    acceptor.open(tcp::v4(), error);
    if (!error)
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error)
        acceptor.bind({asio::ip::address_v4::loopback(), port}, error);
    if (!error)
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
        boost::system::error_code ignored;
        acceptor.close(ignored);
        return fail(ErrorCode::Unavailable,
                    "can't listen on 127.0.0.1:" + std::to_string(port) + ": " + error.message());
    }
    m_p->accept();
    return acceptor.local_endpoint().port();
}

void ApiFront::serve(DialTarget target)
{
    m_p->target = target;
    for (const KnockPtr &knock : std::vector<KnockPtr>(m_p->knocks.begin(), m_p->knocks.end())) {
        if (knock->hasSpoken && !knock->isDialling)
            m_p->forward(knock);
    }
}

void ApiFront::hold()
{
    m_p->target.reset();
}

void ApiFront::dropHeld()
{
    for (const KnockPtr &knock : std::vector<KnockPtr>(m_p->knocks.begin(), m_p->knocks.end())) {
        if (knock->hasSpoken)
            m_p->drop(knock);
    }
}

bool ApiFront::holdIfUnused()
{
    if (m_p->inUse() != 0)
        return false;
    hold();
    return true;
}

ApiFront::Use ApiFront::use() const
{
    return {m_p->inUse(), m_p->last};
}

} // namespace cluster::local
