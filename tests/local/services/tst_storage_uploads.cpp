#include "cluster/local/gcp/multipart_related.h"
#include "cluster/local/gcp/upload_range.h"
#include "tests/local/services/storage_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::Buckets;

class TestStorageUploads : public QObject
{
    Q_OBJECT

private slots:
    void multipartBodiesAreSplit();
    void brokenMultipartBodiesAreRefused();
    void uploadsResumeAfterARestart();
    void uploadsMayEndWithoutKnowingBefore();
    void aLostAnswerIsGivenAgain();
    void conditionsOfTheBeginningHoldAtTheEnd();
    void cancelledUploadsAreGone();
    void contentRangesAreRead();
    void aFullDiskLeavesNothingHalfWritten();
    void restartSweepsWhatNobodyKeeps();
};

void TestStorageUploads::multipartBodiesAreSplit()
{
    for (const std::string end : {"\r\n", "\n"}) {
        const std::string bytes("bytes\r\n--with\nlines\n--xyz not the end\0", 37);
        const std::string body = "--xyzzy" + end + "Content-Type: application/json" + end + end
            + "{\"name\":\"m\"}" + end + "--xyzzy" + end + "content-type: image/png" + end
            + "Content-Transfer-Encoding: binary" + end + end + bytes + end + "--xyzzy--";
        const auto parts = splitRelated("multipart/related; boundary=\"xyzzy\"", body);
        QVERIFY2(parts.has_value(), parts ? "" : parts.error().message.c_str());
        SAME(parts->metadata, "{\"name\":\"m\"}");
        SAME(parts->mediaType, "image/png");
        QVERIFY(parts->media == bytes);
    }
    Buckets buckets;
    const std::string body = "--b\n\n{\"name\":\"m\"}\n--b\nContent-Type: text/css\n\n\n--b--";
    const Answer made = buckets.call("POST /upload/storage/v1/b/bkt1/o?uploadType=multipart", json(body),
                                     {{"content-type", "multipart/related; boundary=b"}});
    SAME(made.body["size"], "0");
    SAME(made.body["contentType"], "text/css");
}

void TestStorageUploads::brokenMultipartBodiesAreRefused()
{
    for (const std::string body : {"", "--b", "--b\n", "--b\n\n{}", "--b\n\n{}\n--b", "--b\n\n{}\n--b--",
                                   "--b\n\n{}\n--b\n\nbytes", "--c\n\n{}\n--c\n\nbytes\n--c--"})
        QVERIFY(!splitRelated("multipart/related; boundary=b", body));
    QVERIFY(!splitRelated("multipart/related", "--b\n\n{}\n--b\n\nbytes\n--b--"));
}

void TestStorageUploads::uploadsResumeAfterARestart()
{
    Buckets buckets;
    const std::string id = buckets.begin("big", "&ifGenerationMatch=0");
    SAME(buckets.send(id, "bytes */10").status, 308);
    SAME(buckets.send(id, "bytes */10").header("range"), "");
    const Answer first = buckets.send(id, "bytes 0-3/10", "0123");
    SAME(first.status, 308);
    SAME(first.header("range"), "bytes=0-3");
    buckets.restart();
    SAME(buckets.send(id, "bytes */10").header("range"), "bytes=0-3");
    SAME(buckets.send(id, "bytes 6-9/10", "6789").header("range"), "bytes=0-3"); // a hole is not filled
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/big").status, 404);
    const Answer done = buckets.send(id, "bytes 2-9/10", "23456789"); // some of it again
    SAME(done.status, 200);
    SAME(done.body["size"], "10");
    SAME(buckets.bytesOf("big"), "0123456789");
}

void TestStorageUploads::uploadsMayEndWithoutKnowingBefore()
{
    Buckets buckets;
    const std::string id = buckets.begin("stream");
    SAME(buckets.send(id, "bytes 0-3/*", "0123").status, 308);
    SAME(buckets.send(id, "bytes 4-5/6", "45").status, 200);
    SAME(buckets.bytesOf("stream"), "012345");
    const std::string none = buckets.begin("empty");
    SAME(buckets.send(none, "bytes */0").body["size"], "0");
    const std::string whole = buckets.begin("whole");
    SAME(buckets.send(whole, {}, "all at once").status, 200);
    SAME(buckets.bytesOf("whole"), "all at once");
}

void TestStorageUploads::aLostAnswerIsGivenAgain()
{
    Buckets buckets;
    const std::string id = buckets.begin("a");
    const Answer done = buckets.send(id, "bytes 0-0/1", "x");
    buckets.restart();
    const Answer again = buckets.send(id, "bytes */1");
    SAME(again.status, 200);
    SAME(again.body["generation"], done.body["generation"]);
    SAME(buckets.bytesOf("a"), "x");
}

void TestStorageUploads::conditionsOfTheBeginningHoldAtTheEnd()
{
    Buckets buckets;
    const std::string id = buckets.begin("a", "&ifGenerationMatch=0");
    buckets.put("a", "somebody was faster");
    SAME(buckets.send(id, "bytes 0-0/1", "x").status, 412);
    SAME(buckets.bytesOf("a"), "somebody was faster");
    SAME(buckets.files(), 1);
}

void TestStorageUploads::cancelledUploadsAreGone()
{
    Buckets buckets;
    const std::string id = buckets.begin("a");
    buckets.send(id, "bytes 0-0/2", "x");
    SAME(buckets.call("DELETE /upload/storage/v1/b/bkt1/o?upload_id=" + id).status, 499);
    SAME(buckets.send(id, "bytes */2").status, 404);
    SAME(buckets.files(), 0);
    // A week is enough for the others.
    const std::string late = buckets.begin("b");
    buckets.stand.pass(24h * 8);
    buckets.restart();
    SAME(buckets.send(late, "bytes */2").status, 404);
    SAME(buckets.files(), 0);
}

void TestStorageUploads::contentRangesAreRead()
{
    const auto range = readUploadRange("bytes 5-9/10");
    QVERIFY(range && range->isGiven && !range->isQuestion);
    SAME(range->first, 5);
    SAME(*range->total, 10);
    QVERIFY(readUploadRange("")->isGiven == false);
    QVERIFY(readUploadRange("bytes */*")->isQuestion);
    for (const char *bad :
         {"bytes", "bytes 1-2", "bytes 2-1/10", "bytes 0-10/10", "bytes -1/10", "bytes a-b/10",
          "bytes 0-1/-1", "bytes 0-99999999999999999999/*", "items 0-1/2", "bytes 0-1/2x"})
        QVERIFY2(!readUploadRange(bad), bad);
}

void TestStorageUploads::aFullDiskLeavesNothingHalfWritten()
{
    Buckets buckets;
    buckets.put("a", "old");
    const std::string id = buckets.begin("b");
    buckets.stand.context().documents.setFull(true);
    const Answer refused = buckets.put("a", "new");
    SAME(refused.status, 507);
    QVERIFY(refused.message().find("full") != std::string::npos);
    SAME(buckets.send(id, "bytes 0-2/3", "new").status, 507);
    SAME(buckets.bytesOf("a"), "old");
    buckets.stand.context().documents.setFull(false);
    SAME(buckets.send(id, "bytes */3").status, 200); // its bytes were here already
    SAME(buckets.files(), 2);
}

void TestStorageUploads::restartSweepsWhatNobodyKeeps()
{
    Buckets buckets;
    buckets.put("a", "kept");
    const std::string id = buckets.begin("b");
    buckets.send(id, "bytes 0-2/9", "abc");
    BlobStore blobs(buckets.stand.folder() + "/buckets/objects");
    QVERIFY(
        blobs.create().has_value()); // as a process leaves it that was killed before it wrote who keeps it
    SAME(buckets.files(), 3);
    buckets.restart();
    SAME(buckets.files(), 2);
    SAME(buckets.bytesOf("a"), "kept");
    SAME(buckets.send(id, "bytes */9").header("range"), "bytes=0-2");
    QVERIFY(!blobs.pathOf("../gcp.sqlite"));
    QVERIFY(!blobs.read("0123", 0, 1));
}

QTEST_APPLESS_MAIN(TestStorageUploads)
#include "tst_storage_uploads.moc"
