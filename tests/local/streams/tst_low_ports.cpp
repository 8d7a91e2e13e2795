// Who is refused at a port that only root may open finds the server at the port's substitute.
#include "cluster/base/low_port.h"
#include "cluster/httpd/http_listener.h"
#include "cluster/local/network/tcp_dialer.h"

#include <QTest>
#include <boost/asio/io_context.hpp>
#include <optional>

using namespace cluster;
using namespace cluster::local;

namespace {

const Ipv4 address = *Ipv4::parse("127.77.66.55");

std::optional<Error> dialled(boost::asio::io_context &io, std::uint16_t port)
{
    std::optional<Error> error;
    bool isDone = false;
    dial(io.get_executor(), {address, port, {}}, std::chrono::seconds(30),
         [&](Result<std::unique_ptr<ByteStream>> stream) {
             isDone = true;
             if (!stream)
                 error = stream.error();
         });
    while (!isDone && io.run_one() > 0) {}
    return error;
}

} // namespace

class TestLowPorts : public QObject
{
    Q_OBJECT

private slots:
    void theSubstituteAnswersInstead()
    {
        boost::asio::io_context io;
        ListenerOptions options;
        options.address = address.text();
        options.port = substituteOfLowPort(81);
        const auto listener = HttpListener::open(io, std::move(options), [](const auto &) {});
        QVERIFY2(listener, listener ? "" : listener.error().message.c_str());
        QVERIFY(!dialled(io, 81));
    }

    void whereNobodyListensTheRefusalIsTold()
    {
        boost::asio::io_context io;
        const auto low = dialled(io, 82);
        QVERIFY(low && low->code == ErrorCode::Unavailable);
        const auto high = dialled(io, 20083);
        QVERIFY(high && high->code == ErrorCode::Unavailable);
    }

    void aServerMayTurnConnectionsAway()
    {
        boost::asio::io_context io;
        ListenerOptions options;
        options.address = address.text();
        std::optional<ConnectionEnds> asked;
        options.admits = [&](const ConnectionEnds &ends) {
            asked = ends;
            return false;
        };
        const auto listener = HttpListener::open(io, std::move(options), [](const auto &) {});
        QVERIFY2(listener, listener ? "" : listener.error().message.c_str());
        QVERIFY(!dialled(io, (*listener)->port())); // the kernel takes it, and then it is closed
        while (!asked && io.run_one() > 0) {}
        QVERIFY(asked.has_value());
        QCOMPARE(asked->local, address.value);
        QCOMPARE(asked->localPort, (*listener)->port());
        QVERIFY(asked->remote != 0 && asked->remotePort != 0);
        QCOMPARE((*listener)->connectionCount(), 0U);
    }
};

QTEST_GUILESS_MAIN(TestLowPorts)
#include "tst_low_ports.moc"
