// The port that clients know, before an API server that may be away: by plain sockets on the loopback.
#include "cluster/local/network/api_front.h"

#include <QTest>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace cluster::local;

namespace {

constexpr int patience = 60000; // ms, for what is awaited

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A blocking socket; an end that does not come would be the test's time limit.
class Socket
{
public:
    explicit Socket(int number = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) : m_number(number) {}
    ~Socket() { ::close(m_number); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    [[nodiscard]] int number() const { return m_number; }
    bool connectTo(std::uint16_t port)
    {
        const sockaddr_in address = loopback(port);
        return ::connect(m_number, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
    }
    bool send(std::string_view text)
    {
        while (!text.empty()) {
            const ssize_t sent = ::send(m_number, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                return false;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    std::string readExactly(std::size_t size)
    {
        std::string text(size, '\0');
        const ssize_t got = ::recv(m_number, text.data(), size, MSG_WAITALL);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }
    bool isAtEnd()
    {
        char byte = 0;
        return ::recv(m_number, &byte, 1, 0) <= 0;
    }
    void endWriting() { ::shutdown(m_number, SHUT_WR); }

private:
    int m_number;
};

/// What the API server is here: a port whose connections the test takes one by one.
class Server
{
public:
    explicit Server(std::uint16_t port = 0)
    {
        const int yes = 1;
        ::setsockopt(m_socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_in address = loopback(port);
        socklen_t size = sizeof address;
        m_isOpen = ::bind(m_socket.number(), reinterpret_cast<sockaddr *>(&address), size) == 0
            && ::listen(m_socket.number(), 16) == 0;
        ::getsockname(m_socket.number(), reinterpret_cast<sockaddr *>(&address), &size);
        m_port = ntohs(address.sin_port);
    }
    [[nodiscard]] bool isOpen() const { return m_isOpen; }
    [[nodiscard]] std::uint16_t port() const { return m_port; }
    [[nodiscard]] int accept() const { return ::accept(m_socket.number(), nullptr, nullptr); }
    [[nodiscard]] DialTarget target() const { return {*Ipv4::parse("127.0.0.1"), m_port, {}}; }

private:
    Socket m_socket;
    bool m_isOpen = false;
    std::uint16_t m_port = 0;
};

/// The front on a thread of its own, as in the daemon.
class Stand
{
public:
    explicit Stand(ApiFrontOptions options = {})
        : m_work(boost::asio::make_work_guard(m_io)), m_thread([this] { m_io.run(); })
    {
        run([&] {
            m_front = std::make_unique<ApiFront>(m_io, options, [this] { ++asked; });
            m_port = m_front->listen(0).value_or(0);
        });
    }
    ~Stand()
    {
        run([this] { m_front.reset(); });
        m_work.reset();
        m_thread.join();
    }
    Stand(const Stand &) = delete;
    Stand &operator=(const Stand &) = delete;

    template<typename Work>
    auto run(Work &&work) -> decltype(work())
    {
        std::packaged_task<decltype(work())()> task(std::forward<Work>(work));
        auto result = task.get_future();
        boost::asio::post(m_io, [&task] { task(); });
        return result.get();
    }
    void serve(const DialTarget &target)
    {
        run([&] { m_front->serve(target); });
    }
    void dropHeld()
    {
        run([this] { m_front->dropHeld(); });
    }
    bool holdIfUnused()
    {
        return run([this] { return m_front->holdIfUnused(); });
    }
    ApiFront::Use use()
    {
        return run([this] { return m_front->use(); });
    }
    [[nodiscard]] std::uint16_t port() const { return m_port; }

    std::atomic<int> asked = 0;

private:
    boost::asio::io_context m_io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> m_work;
    std::unique_ptr<ApiFront> m_front;
    std::uint16_t m_port = 0;
    std::thread m_thread;
};

} // namespace

class TestApiFront : public QObject
{
    Q_OBJECT

private slots:
    void bytesGoBothWaysAndASlowReaderSlowsTheWriter();
    void anEndOfOneDirectionLeavesTheOther();
    void whoeverSpeaksWhileTheServerIsAwayIsHeldAskedForAndThenServed();
    void aLookWhetherThePortIsOpenAsksForNobody();
    void itIsNotPutToSleepWhileAClientIsThere();
    void thoseWhoWaitAreSentAwayWhenTheServerDoesNotCome();
    void aServerThatIsBeingStartedAgainIsDialledUntilItIsThere();
    void oneConnectionTooManyIsClosed();
};

void TestApiFront::bytesGoBothWaysAndASlowReaderSlowsTheWriter()
{
    const Server server;
    Stand stand;
    stand.serve(server.target());
    Socket client;
    QVERIFY(client.connectTo(stand.port()));
    const std::string large(std::size_t{32} << 20, 'x');
    std::atomic<bool> isSent = false;
    std::jthread writer([&] { isSent = client.send(large); });
    Socket peer(server.accept());
    QTest::qWait(300); // nobody reads: the sockets' buffers and 64 KiB of ours are all that can be on the way
    QVERIFY(!isSent);
    std::size_t got = 0;
    for (std::array<char, 65536> part{}; got < large.size();) {
        const ssize_t count = ::recv(peer.number(), part.data(), part.size(), 0);
        QVERIFY(count > 0);
        got += static_cast<std::size_t>(count);
    }
    writer.join();
    QVERIFY(isSent);
    QVERIFY(peer.send("answer"));
    QCOMPARE(client.readExactly(6), std::string("answer"));
}

void TestApiFront::anEndOfOneDirectionLeavesTheOther()
{
    const Server server;
    Stand stand;
    stand.serve(server.target());
    Socket client;
    QVERIFY(client.connectTo(stand.port()));
    QVERIFY(client.send("all"));
    client.endWriting();
    Socket peer(server.accept());
    QCOMPARE(peer.readExactly(3), std::string("all"));
    QVERIFY(peer.isAtEnd());
    QVERIFY(peer.send("and the answer"));
    QCOMPARE(client.readExactly(14), std::string("and the answer"));
}

void TestApiFront::whoeverSpeaksWhileTheServerIsAwayIsHeldAskedForAndThenServed()
{
    const Server server;
    Stand stand;
    Socket client;
    QVERIFY(client.connectTo(stand.port()));
    QVERIFY(client.send("hello"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.asked.load(), 1, patience);
    QCOMPARE(stand.use().connections, std::size_t{1});
    QVERIFY(stand.use().last != ApiFront::Clock::time_point());
    stand.serve(server.target());
    Socket peer(server.accept());
    QCOMPARE(peer.readExactly(5), std::string("hello"));
}

void TestApiFront::aLookWhetherThePortIsOpenAsksForNobody()
{
    Stand stand;
    {
        Socket look;
        QVERIFY(look.connectTo(stand.port()));
    }
    Socket silent;
    QVERIFY(silent.connectTo(stand.port()));
    Socket client; // behind it: when this one is known, the looks have been seen too
    QVERIFY(client.connectTo(stand.port()));
    QVERIFY(client.send("hello"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.use().connections, std::size_t{1}, patience);
    QCOMPARE(stand.asked.load(), 1);
}

void TestApiFront::itIsNotPutToSleepWhileAClientIsThere()
{
    const Server server;
    Stand stand;
    stand.serve(server.target());
    {
        Socket client;
        QVERIFY(client.connectTo(stand.port()));
        QVERIFY(client.send("x"));
        Socket peer(server.accept());
        QCOMPARE(peer.readExactly(1), std::string("x"));
        QVERIFY(!stand.holdIfUnused());
        QVERIFY(peer.send("y"));
        QCOMPARE(client.readExactly(1), std::string("y"));
    }
    const auto whileThere = stand.use().last;
    QTRY_VERIFY_WITH_TIMEOUT(stand.holdIfUnused(), patience);
    QVERIFY(stand.use().last >= whileThere); // its end counts as use
    Socket next;
    QVERIFY(next.connectTo(stand.port()));
    QVERIFY(next.send("x"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.asked.load(), 1, patience); // though the server is still there
}

void TestApiFront::thoseWhoWaitAreSentAwayWhenTheServerDoesNotCome()
{
    Stand stand;
    Socket client;
    QVERIFY(client.connectTo(stand.port()));
    QVERIFY(client.send("hello"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.asked.load(), 1, patience);
    stand.dropHeld();
    QVERIFY(client.isAtEnd());
    QCOMPARE(stand.use().connections, std::size_t{0});
}

void TestApiFront::aServerThatIsBeingStartedAgainIsDialledUntilItIsThere()
{
    auto first = std::make_unique<Server>();
    const std::uint16_t port = first->port();
    const DialTarget target = first->target();
    first.reset();
    ApiFrontOptions options;
    options.dialPatience = std::chrono::milliseconds(patience);
    Stand stand(options);
    stand.serve(target);
    Socket client;
    QVERIFY(client.connectTo(stand.port()));
    QVERIFY(client.send("hello"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.use().connections, std::size_t{1}, patience);
    const Server again(port);
    QVERIFY(again.isOpen());
    Socket peer(again.accept());
    QCOMPARE(peer.readExactly(5), std::string("hello"));
}

void TestApiFront::oneConnectionTooManyIsClosed()
{
    ApiFrontOptions options;
    options.maxConnections = 2;
    Stand stand(options);
    Socket one;
    Socket two;
    QVERIFY(one.connectTo(stand.port()) && one.send("1"));
    QVERIFY(two.connectTo(stand.port()) && two.send("2"));
    QTRY_COMPARE_WITH_TIMEOUT(stand.asked.load(), 2, patience);
    Socket three;
    QVERIFY(three.connectTo(stand.port()));
    QVERIFY(three.isAtEnd());
    QCOMPARE(stand.use().connections, std::size_t{2});
}

QTEST_GUILESS_MAIN(TestApiFront)
#include "tst_api_front.moc"
