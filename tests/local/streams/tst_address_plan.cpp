#include "cluster/local/network/address_claim.h"
#include "cluster/local/network/address_plan.h"
#include "cluster/local/network/address_pool.h"

#include <QTest>
#include <set>

using namespace cluster::local;

class AddressPlanTest : public QObject
{
    Q_OBJECT

private slots:
    void noTwoRangesOfAnyTwoClustersOverlap();
    void whatIsMappedComesBackAndStaysApart();
    void thereIsNoEleventhCluster();
    void thousandsOfNodesAndPodsGetAddressesOfTheirOwn();
    void anAddressThatWasGivenBackIsTheLastToBeHandedOut();
    void anAddressFoundAtStartIsNotHandedOutAgain();
    void aRangeThatIsUsedUpSaysSo();
    void theAddressesOfAClusterAreClaimedByOne();
    void onlyPlainAddressesAreRead_data();
    void onlyPlainAddressesAreRead();
};

void AddressPlanTest::noTwoRangesOfAnyTwoClustersOverlap()
{
    std::vector<Ipv4Range> ranges;
    for (int n = 0; n < AddressPlan::maxClusters; ++n) {
        const auto plan = AddressPlan::forCluster(n);
        QVERIFY(plan.has_value());
        for (const Ipv4Range &range : {plan->nodes(), plan->pods(), plan->services(), plan->metadata()}) {
            QCOMPARE(range.first.value >> 24, 10U);
            QCOMPARE(range.first.value % range.size(), 0U);
            // 127.0.x.y has this machine's own: localhost, the system's resolver.
            QVERIFY(!Ipv4Range({Ipv4{0x0A000000}, 16}).overlaps(range));
            for (const Ipv4Range &other : ranges)
                QVERIFY2(!range.overlaps(other), (range.text() + " and " + other.text()).c_str());
            ranges.push_back(range);
        }
        QVERIFY(plan->nodes().contains(plan->controlPlane()));
        QVERIFY(plan->services().contains(plan->kubernetesService()));
        QVERIFY(plan->contains(plan->controlPlane()));
        QVERIFY(!plan->contains(Ipv4{0x7F000001}));
    }
}

void AddressPlanTest::whatIsMappedComesBackAndStaysApart()
{
    const Ipv4 pod = *Ipv4::parse("10.16.3.7");
    QCOMPARE(onThisMachine(pod).text(), std::string("127.16.3.7"));
    QCOMPARE(inCluster(onThisMachine(pod)), pod);
}

void AddressPlanTest::thereIsNoEleventhCluster()
{
    QVERIFY(!AddressPlan::forCluster(-1).has_value());
    const auto refused = AddressPlan::forCluster(AddressPlan::maxClusters);
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().code, cluster::ErrorCode::InvalidArgument);
}

void AddressPlanTest::thousandsOfNodesAndPodsGetAddressesOfTheirOwn()
{
    const auto plan = AddressPlan::forCluster(3);
    AddressPool nodes(plan->nodes());
    AddressPool pods(plan->pods());
    std::set<Ipv4> seen{plan->controlPlane()};
    for (int i = 0; i < 5000; ++i) {
        for (AddressPool *pool : {&nodes, &pods}) {
            const auto address = pool->allocate();
            QVERIFY(address.has_value());
            QVERIFY(plan->contains(*address));
            QVERIFY2(seen.insert(*address).second, address->text().c_str());
            QVERIFY((address->value & 0xFF) != 0 && (address->value & 0xFF) != 255);
        }
    }
    QCOMPARE(pods.inUse(), std::size_t{5000});
}

void AddressPlanTest::anAddressThatWasGivenBackIsTheLastToBeHandedOut()
{
    AddressPool pool({*Ipv4::parse("10.16.0.0"), 28}, 0); // 1 to 15
    const auto first = pool.allocate();
    pool.release(*first);
    for (int i = 0; i < 14; ++i)
        QVERIFY(*pool.allocate() != *first);
    QCOMPARE(*pool.allocate(), *first);
}

void AddressPlanTest::anAddressFoundAtStartIsNotHandedOutAgain()
{
    AddressPool pool({*Ipv4::parse("10.16.0.0"), 28}, 0);
    const Ipv4 known = *Ipv4::parse("10.16.0.9");
    QVERIFY(pool.take(known));
    QVERIFY(!pool.take(known));
    QVERIFY(!pool.take(*Ipv4::parse("10.17.0.9")));
    for (int i = 0; i < 14; ++i)
        QVERIFY(*pool.allocate() != known);
}

void AddressPlanTest::aRangeThatIsUsedUpSaysSo()
{
    AddressPool pool({*Ipv4::parse("10.16.0.0"), 30}, 0);
    for (int i = 0; i < 3; ++i)
        QVERIFY(pool.allocate().has_value());
    QCOMPARE(pool.allocate().error().code, cluster::ErrorCode::ResourceExhausted);
    pool.release(*Ipv4::parse("10.16.0.2"));
    QCOMPARE(pool.allocate()->text(), std::string("10.16.0.2"));
}

void AddressPlanTest::theAddressesOfAClusterAreClaimedByOne()
{
    using cluster::ErrorCode;
    QVERIFY(!AddressClaim::take(AddressPlan::maxClusters).has_value());
    // Others on this machine may have some: any free one will do.
    for (int index = AddressPlan::maxClusters - 1; index >= 0; --index) {
        auto claim = AddressClaim::take(index);
        if (!claim)
            continue;
        QCOMPARE(claim->index(), index);
        QCOMPARE(AddressClaim::take(index).error().code, ErrorCode::AlreadyExists);
        {
            const AddressClaim moved = std::move(*claim);
            QCOMPARE(AddressClaim::take(index).error().code, ErrorCode::AlreadyExists);
        }
        QVERIFY(AddressClaim::take(index).has_value());
        return;
    }
    QSKIP("all addresses are claimed by others");
}

void AddressPlanTest::onlyPlainAddressesAreRead_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isAddress");
    QTest::newRow("plain") << "10.0.255.1" << true;
    QTest::newRow("zero") << "0.0.0.0" << true;
    QTest::newRow("too large") << "10.0.256.1" << false;
    QTest::newRow("leading zero") << "10.0.01.1" << false;
    QTest::newRow("three parts") << "10.0.1" << false;
    QTest::newRow("five parts") << "10.0.1.1.1" << false;
    QTest::newRow("number") << "167772161" << false;
    QTest::newRow("blank") << " 10.0.0.1" << false;
    QTest::newRow("empty part") << "10..0.1" << false;
    QTest::newRow("name") << "localhost" << false;
    QTest::newRow("empty") << "" << false;
    QTest::newRow("long") << "1000000000000000000000.1.1.1" << false;
}

void AddressPlanTest::onlyPlainAddressesAreRead()
{
    QFETCH(QString, text);
    QFETCH(bool, isAddress);
    const auto address = Ipv4::parse(text.toStdString());
    QCOMPARE(address.has_value(), isAddress);
    if (isAddress)
        QCOMPARE(address->text(), text.toStdString());
}

QTEST_APPLESS_MAIN(AddressPlanTest)
#include "tst_address_plan.moc"
