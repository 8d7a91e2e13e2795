// What is uploaded to Cloud Storage's API is a file of the bucket's folder, and the other way round.

#include "cluster/local/storage/bucket_mirror.h"
#include "tests/local/services/storage_stand.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace cluster;
using namespace cluster::local;
using namespace tests;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return file ? text.str() : "(none)";
}

BucketMirror mirrorOf(Buckets &buckets, const QTemporaryDir &folder)
{
    auto opened = BucketMirror::open(buckets.service().files(), {"bkt1", {{}, true}, false},
                                     folder.path().toStdString() + "/m");
    if (!opened)
        qFatal("%s", opened.error().message.c_str());
    return std::move(*opened);
}

} // namespace

class TestBucketFiles : public QObject
{
    Q_OBJECT

private slots:
    void uploadsAreFilesAndFilesAreObjects()
    {
        Buckets buckets;
        const QTemporaryDir folder;
        auto mirror = mirrorOf(buckets, folder);
        const std::string big(3 << 20, 'x'); // more than one piece
        SAME(buckets.put("models/big", big).status, 200);
        SAME(buckets.put("empty", "").status, 200);
        QVERIFY(mirror.sync());
        QVERIFY(read(mirror.data() / "models/big") == big);
        QCOMPARE(read(mirror.data() / "empty"), std::string());
        std::ofstream(mirror.data() / "out.json") << "{}";
        std::ofstream(mirror.data() / "models/big") << "small";
        QVERIFY(mirror.sync());
        QCOMPARE(buckets.bytesOf("out.json"), std::string("{}"));
        QCOMPARE(buckets.bytesOf("models/big"), std::string("small"));
        SAME(buckets.call("GET /storage/v1/b/bkt1/o/out.json").body["contentType"], "application/json");
        QCOMPARE(buckets.files(), 3); // no bytes of what was replaced are left
        SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/empty").status, 204);
        fs::remove(mirror.data() / "out.json");
        QVERIFY(mirror.sync());
        QVERIFY(!fs::exists(mirror.data() / "empty"));
        SAME(buckets.call("GET /storage/v1/b/bkt1/o/out.json").status, 404);
        QVERIFY(mirror.isInStep());
    }

    void anObjectThatAnotherHasReplacedIsNotOverwritten()
    {
        Buckets buckets;
        const QTemporaryDir folder;
        BucketObjects &files = buckets.service().files();
        SAME(buckets.put("a", "first").status, 200);
        const auto seen = files.list("bkt1");
        QVERIFY(seen && seen->objects.size() == 1);
        SAME(buckets.put("a", "second").status, 200);
        const auto path = folder.path() + "/f";
        std::ofstream(path.toStdString()) << "mine";
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        const auto written = files.write("bkt1", "a", file.handle(), seen->objects[0].generation);
        QVERIFY(!written && written.error().code == ErrorCode::FailedPrecondition);
        const Status removed = files.remove("bkt1", "a", seen->objects[0].generation);
        QVERIFY(!removed && removed.error().code == ErrorCode::FailedPrecondition);
        QCOMPARE(buckets.bytesOf("a"), std::string("second"));
        const auto missing = files.list("bkt2");
        QVERIFY(!missing && missing.error().code == ErrorCode::NotFound);
        const auto unnamed = files.write("bkt1", "bad\nname", file.handle(), 0);
        QVERIFY(!unnamed && unnamed.error().code == ErrorCode::InvalidArgument);
        QCOMPARE(buckets.files(), 1);
    }

    void foldersOfHierarchicalBucketsAreFolders()
    {
        Buckets buckets({{"name", "bkt1"},
                         {"location", "us-central1"},
                         {"iamConfiguration", {{"uniformBucketLevelAccess", {{"enabled", true}}}}},
                         {"hierarchicalNamespace", {{"enabled", true}}}});
        const QTemporaryDir folder;
        auto mirror = mirrorOf(buckets, folder);
        fs::create_directories(mirror.data() / "run/logs");
        std::ofstream(mirror.data() / "run/logs/a") << "text";
        QVERIFY(mirror.sync());
        SAME(buckets.call("GET /storage/v1/b/bkt1/folders/run%2Flogs%2F").status, 200);
        QCOMPARE(buckets.bytesOf("run/logs/a"), std::string("text"));
        fs::remove_all(mirror.data() / "run");
        QVERIFY(mirror.sync());
        SAME(buckets.call("GET /storage/v1/b/bkt1/folders/run%2F").status, 404);
        SAME(buckets.call("GET /storage/v1/b/bkt1/o/run%2Flogs%2Fa").status, 404);
    }
};

QTEST_GUILESS_MAIN(TestBucketFiles)
#include "tst_bucket_files.moc"
