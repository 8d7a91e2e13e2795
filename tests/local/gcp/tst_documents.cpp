#include "cluster/local/gcp/documents.h"
#include "cluster/local/gcp/faults.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>
#include <thread>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

class TestDocuments : public QObject
{
    Q_OBJECT

private slots:
    void keepsWhatWasAcknowledged();
    void tellsOldGenerationsFromNew();
    void listsByPrefixInPages();
    void changesAllOrNothing();
    void threadsDoNotLoseUpdates();
    void aFullDiskRefusesWritesOnly();
    void aDamagedFileIsNamed();
    void aDamagedFileIsKeptAside();
    void aLogWithoutItsStoreIsNoNewStore();
    void etagsAreCanonicalBase64();
    void faultsStrikeAsOftenAsTheySay();
    void faultsMatchWhatTheyName();
    void faultsAreRead();
};

void TestDocuments::keepsWhatWasAcknowledged()
{
    QTemporaryDir folder;
    const std::string path = folder.filePath("d.sqlite").toStdString();
    {
        auto documents = Documents::open(path).value();
        QVERIFY((*documents).put("a/1", {{"x", 1}}).has_value());
        // As a killed process leaves it: the file is copied while it is open, WAL and all.
        for (const char *suffix : {"", "-wal"})
            QVERIFY(QFile::copy(QString::fromStdString(path + suffix),
                                folder.filePath(QString("copy") + suffix)));
        struct stat info
        {
        };
        QCOMPARE(::stat(path.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777u, 0600u);
    }
    auto copy = Documents::open(folder.filePath("copy").toStdString()).value();
    QVERIFY(copy->get("a/1")->has_value());
    QCOMPARE((*copy->get("a/1"))->value["x"].get<int>(), 1);
}

void TestDocuments::tellsOldGenerationsFromNew()
{
    auto documents = Documents::open(":memory:").value();
    const auto first = documents->create("k", 1);
    QVERIFY(first.has_value());
    QVERIFY(documents->create("k", 2).error().code == ErrorCode::AlreadyExists);
    const auto second = documents->replace("k", 3, first->generation);
    QVERIFY(second.has_value());
    QVERIFY(documents->replace("k", 4, first->generation).error().code == ErrorCode::Aborted);
    QVERIFY(documents->replace("none", 4, 1).error().code == ErrorCode::NotFound);
    QVERIFY(documents->remove("k").has_value());
    QVERIFY(documents->remove("k").error().code == ErrorCode::NotFound);
    const auto anew = documents->create("k", 5);
    QVERIFY(anew->generation > second->generation);
    QVERIFY(documents->update("k", [](json &) { return Status(fail(ErrorCode::Aborted, "no")); }).error().code
            == ErrorCode::Aborted);
    QCOMPARE((*documents->get("k"))->value.get<int>(), 5);
}

void TestDocuments::listsByPrefixInPages()
{
    auto documents = Documents::open(":memory:").value();
    for (const char *key : {"a/1", "a/2", "a/3", "a0", "b/1", "a"})
        QVERIFY(documents->put(key, key).has_value());
    const auto all = documents->list("a/");
    QCOMPARE(all->size(), std::size_t{3});
    const auto page = documents->list("a/", "a/1", 1);
    QCOMPARE(page->size(), std::size_t{1});
    QCOMPARE(page->front().key, std::string("a/2"));
    QCOMPARE(documents->list("")->size(), std::size_t{6});
    QCOMPARE(*documents->removeAll("a/"), std::size_t{3});
    QCOMPARE(documents->list("")->size(), std::size_t{3});
}

void TestDocuments::changesAllOrNothing()
{
    auto documents = Documents::open(":memory:").value();
    QVERIFY(documents->put("old", 1).has_value());
    QVERIFY(documents->apply({{"new", json(2)}, {"old", std::nullopt}, {"never", std::nullopt}}).has_value());
    QVERIFY(documents->get("new")->has_value());
    QVERIFY(!documents->get("old")->has_value());
    documents->setFull(true);
    QVERIFY(!documents->apply({{"new", std::nullopt}, {"more", json(3)}}).has_value());
    QVERIFY(documents->get("new")->has_value());
}

void TestDocuments::threadsDoNotLoseUpdates()
{
    auto documents = Documents::open(":memory:").value();
    QVERIFY(documents->put("n", 0).has_value());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 100; ++j) {
                static_cast<void>(documents->update("n", [](json &value) {
                    value = value.get<int>() + 1;
                    return Status{};
                }));
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    QCOMPARE((*documents->get("n"))->value.get<int>(), 400);
}

void TestDocuments::aFullDiskRefusesWritesOnly()
{
    auto documents = Documents::open(":memory:").value();
    QVERIFY(documents->put("k", 1).has_value());
    documents->setFull(true);
    QVERIFY(documents->put("k", 2).error().code == ErrorCode::ResourceExhausted);
    QCOMPARE((*documents->get("k"))->value.get<int>(), 1);
    QVERIFY(documents->remove("k").has_value());
    documents->setFull(false);
    QVERIFY(documents->put("k", 3).has_value());
}

void TestDocuments::aDamagedFileIsNamed()
{
    QTemporaryDir folder;
    QFile file(folder.filePath("d.sqlite"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(8192, 'x'));
    file.close();
    const auto documents = Documents::open(file.fileName().toStdString());
    QVERIFY(!documents.has_value());
    QVERIFY(documents.error().code == ErrorCode::DataLoss);
    QVERIFY(documents.error().message.find("d.sqlite") != std::string::npos);
    QVERIFY(!Documents::open(folder.filePath("none/d.sqlite").toStdString()).has_value());
}

void TestDocuments::aDamagedFileIsKeptAside()
{
    QTemporaryDir folder;
    QFile file(folder.filePath("d.sqlite"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    const QByteArray garbage(8192, 'x');
    file.write(garbage);
    file.close();
    for (int attempt = 0; attempt < 2; ++attempt) { // again: no second copy
        const auto documents = Documents::open(file.fileName().toStdString());
        QVERIFY(!documents.has_value());
        QVERIFY(documents.error().message.find("slipwayctl local reset") != std::string::npos);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), garbage); // the file itself stays too
        file.close();
        const QStringList copies = QDir(folder.path()).entryList({"d.sqlite.damaged-*"});
        QCOMPARE(copies.size(), 1);
        QFile copy(folder.filePath(copies.first()));
        QVERIFY(copy.open(QIODevice::ReadOnly));
        QCOMPARE(copy.readAll(), garbage);
        QVERIFY(documents.error().message.find(copies.first().toStdString()) != std::string::npos);
    }
}

void TestDocuments::aLogWithoutItsStoreIsNoNewStore()
{
    QTemporaryDir folder;
    for (const auto &[name, bytes] : {std::pair{"d.sqlite", ""}, std::pair{"d.sqlite-wal", "frames"}}) {
        QFile file(folder.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
    }
    QVERIFY(!Documents::open(folder.filePath("d.sqlite").toStdString()).has_value());
    QFile log(folder.filePath("d.sqlite-wal"));
    QVERIFY(log.open(QIODevice::ReadOnly));
    QCOMPARE(log.readAll(), QByteArray("frames"));
}

void TestDocuments::etagsAreCanonicalBase64()
{
    for (const std::int64_t generation :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{255}, std::int64_t{1} << 40}) {
        Document document{"k", nullptr, generation};
        const QByteArray etag = QByteArray::fromStdString(document.etag());
        const auto bytes = QByteArray::fromBase64Encoding(etag, QByteArray::AbortOnBase64DecodingErrors);
        QVERIFY(bytes.decodingStatus == QByteArray::Base64DecodingStatus::Ok);
        QCOMPARE(bytes.decoded.toBase64(), etag); // gcloud decodes and encodes it
        QCOMPARE(generationOfEtag(document.etag()).value_or(-1), generation);
    }
    for (const char *foreign : {"", "abc", "BwYk1234567", "????????????", "BwYk123456=="})
        QVERIFY2(!generationOfEtag(foreign).has_value(), foreign);
}

void TestDocuments::faultsStrikeAsOftenAsTheySay()
{
    auto documents = Documents::open(":memory:").value();
    Faults faults(*documents);
    int changes = 0;
    faults.onChange([&] { ++changes; });
    Fault twice;
    twice.kind = FaultKind::Unavailable;
    twice.times = 2;
    QCOMPARE(faults.add(twice)->id, std::string("f-1"));
    QVERIFY(faults.strike(FaultKind::Unavailable, {}).has_value());
    {
        Faults later(*documents); // a new process remembers how often it struck
        QCOMPARE(later.list()->front().struck, 1);
    }
    QVERIFY(faults.strike(FaultKind::Unavailable, {}).has_value());
    QVERIFY(!faults.strike(FaultKind::Unavailable, {}).has_value());
    QVERIFY(faults.list()->empty());
    QCOMPARE(changes, 2); // added, over
    QVERIFY(faults.remove("f-1").error().code == ErrorCode::NotFound);
}

void TestDocuments::faultsMatchWhatTheyName()
{
    auto documents = Documents::open(":memory:").value();
    Faults faults(*documents);
    Fault fault;
    fault.kind = FaultKind::Stockout;
    fault.location = "us-east5";
    fault.machineType = "ct6e-standard-4t";
    QVERIFY(faults.add(fault).has_value());
    FaultContext context;
    context.location = "us-east5-b";
    context.machineType = "ct6e-standard-4t";
    QVERIFY(faults.find(FaultKind::Stockout, context).has_value());
    context.location = "us-east5";
    QVERIFY(faults.find(FaultKind::Stockout, context).has_value());
    context.location = "us-east50-a"; // a region of which the other is a prefix
    QVERIFY(!faults.find(FaultKind::Stockout, context).has_value());
    context.location = "us-east5-b";
    context.machineType = "e2-medium";
    QVERIFY(!faults.find(FaultKind::Stockout, context).has_value());
    QVERIFY(!faults.find(FaultKind::Quota, context).has_value());
}

void TestDocuments::faultsAreRead()
{
    const auto fault
        = Fault::fromJson({{"kind", "latency"}, {"service", "storage"}, {"latencyMs", 250}, {"times", 3}});
    QVERIFY(fault.has_value());
    QVERIFY(fault->latency == std::chrono::milliseconds(250));
    QVERIFY(Fault::fromJson(fault->toJson()).has_value());
    for (const json &bad :
         {json(nullptr), json::object(), json{{"kind", "flood"}}, json{{"kind", 3}},
          json{{"kind", "latency"}, {"colour", "red"}}, json{{"kind", "latency"}, {"latencyMs", -1}},
          json{{"kind", "latency"}, {"service", 7}}, json{{"kind", "slow-operation"}, {"factor", 0}}}) {
        const auto read = Fault::fromJson(bad);
        QVERIFY2(!read.has_value(), bad.dump().c_str());
        QVERIFY(read.error().message.starts_with("fault"));
    }
    const std::string unknown = Fault::fromJson({{"kind", "latency"}, {"colour", "red"}}).error().message;
    for (const char *known : {"colour", "kind", "service", "machineType", "latencyMs", "times"})
        QVERIFY2(unknown.find(known) != std::string::npos, unknown.c_str());
    const std::string high = Fault::fromJson({{"kind", "quota"}, {"limit", 1e13}}).error().message;
    QVERIFY2(high.find("at most") != std::string::npos, high.c_str());
}

QTEST_GUILESS_MAIN(TestDocuments)
#include "tst_documents.moc"
