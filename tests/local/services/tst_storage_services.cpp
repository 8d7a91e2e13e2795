#include "cluster/local/gcp/multipart_related.h"
#include "cluster/local/gcp/storage_checksums.h"
#include "cluster/local/gcp/storage_service.h"
#include "cluster/local/gcp/upload_range.h"
#include "tests/local/services/service_stand.h"

#include <QDir>
#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::ServiceStand;

namespace {

/// A storage service with a bucket bkt1.
class Buckets
{
public:
    explicit Buckets(const json &bucket = {{"name", "bkt1"}, {"location", "us-central1"}})
    {
        restart();
        const Answer made = call("POST /storage/v1/b?project=my-project", bucket);
        if (made.status != 200)
            qFatal("%s", made.response.body.c_str());
    }
    Answer call(const std::string &line, const json &body = {}, HeaderFields headers = {})
    {
        return stand.call(*m_service, line, body, std::move(headers));
    }
    Answer put(const std::string &name, const std::string &bytes, const std::string &more = {})
    {
        return call("POST /upload/storage/v1/b/bkt1/o?uploadType=media&name=" + urlEncoded(name) + more,
                    json(bytes), {{"content-type", "text/plain"}});
    }
    std::string bytesOf(const std::string &name)
    {
        return call("GET /download/storage/v1/b/bkt1/o/" + urlEncoded(name) + "?alt=media").response.body;
    }
    /// The session's id.
    std::string begin(const std::string &name, const std::string &more = {}, const json &body = {})
    {
        const Answer answer = call(
            "POST /resumable/upload/storage/v1/b/bkt1/o?uploadType=resumable&name=" + name + more, body);
        const std::string location = answer.header("location");
        return location.substr(location.rfind('=') + 1);
    }
    Answer send(const std::string &id, const std::string &range, const std::string &bytes = {})
    {
        HeaderFields headers;
        if (!range.empty())
            headers.emplace_back("content-range", range);
        return call("PUT /upload/storage/v1/b/bkt1/o?uploadType=resumable&upload_id=" + id, json(bytes),
                    headers);
    }
    void restart()
    {
        m_service.reset();
        stand.restart();
        m_service = std::make_unique<StorageService>(stand.context());
        m_service->start();
    }
    [[nodiscard]] int files() const
    {
        return static_cast<int>(
            QDir(QString::fromStdString(stand.folder() + "/buckets/objects")).entryList(QDir::Files).size());
    }
    StorageService &service() { return *m_service; }

    ServiceStand stand;

private:
    std::unique_ptr<StorageService> m_service;
};

json namesOf(const Answer &list)
{
    json names = json::array();
    for (const json &item : list.body.value("items", json::array()))
        names.push_back(item["name"]);
    return names;
}

} // namespace

class TestStorageServices : public QObject
{
    Q_OBJECT

private slots:
    void checksumsAreGooglesForm();
    void aBucketHasGooglesFields();
    void bucketNamesFollowTheRules();
    void bucketsAreMadeOnce();
    void fullBucketsStay();
    void bucketPoliciesAreWrittenBackByTheirEtag();
    void whatGoesInComesOut();
    void wrongChecksumsWriteNothing();
    void rangesAreServed();
    void generationsGuardWrites();
    void versionsAreKeptWhereAsked();
    void listsByPrefixDelimiterAndPage();
    void namesAreNoPaths();
    void multipartBodiesAreSplit();
    void brokenMultipartBodiesAreRefused();
    void uploadsResumeAfterARestart();
    void uploadsMayEndWithoutKnowingBefore();
    void aLostAnswerIsGivenAgain();
    void conditionsOfTheBeginningHoldAtTheEnd();
    void cancelledUploadsAreGone();
    void contentRangesAreRead();
    void copiesOutliveTheirSource();
    void composesInOrder();
    void aFullDiskLeavesNothingHalfWritten();
    void restartSweepsWhatNobodyKeeps();
    void cachesLiveInAZoneOfTheBucket();
    void foldersAppearWithObjects();
};

void TestStorageServices::checksumsAreGooglesForm()
{
    ObjectChecksums sums;
    sums.add("1234");
    sums.add("56789");
    SAME(sums.crc32c(), "4waSgw=="); // CRC-32C of "123456789" is e3069283
    SAME(sums.md5(), "JfnnlDI7RTiF9RgfG2JNCw==");
    ObjectChecksums empty;
    SAME(empty.crc32c(), "AAAAAA==");
    SAME(empty.md5(), "1B2M2Y8AsgTpgAmY7PhCfg==");
}

void TestStorageServices::aBucketHasGooglesFields()
{
    Buckets buckets;
    const Answer bucket = buckets.call("GET /storage/v1/b/bkt1?projection=full");
    SAME(bucket.body["location"], "US-CENTRAL1");
    SAME(bucket.body["locationType"], "region");
    SAME(bucket.body["storageClass"], "STANDARD");
    SAME(bucket.body["metageneration"], "1");
    SAME(bucket.body["etag"], "CAE=");
    SAME(bucket.body["projectNumber"], "123456789012");
    SAME(bucket.body["softDeletePolicy"]["retentionDurationSeconds"], "604800");
    const Answer changed = buckets.call("PATCH /storage/v1/b/bkt1", {{"labels", {{"a", "b"}}}});
    SAME(changed.body["metageneration"], "2");
    SAME(changed.body["labels"]["a"], "b");
    SAME(buckets.call("PATCH /storage/v1/b/bkt1?ifMetagenerationMatch=1", json::object()).status, 412);
}

void TestStorageServices::bucketNamesFollowTheRules()
{
    Buckets buckets;
    for (const char *name : {"", "ab", "Capital", "-begins", "ends-", "has space", "1.2.3.4", "goog-x",
                             "a-google-b", "a..b", "../../etc", "a/b"}) {
        const Answer answer = buckets.call("POST /storage/v1/b?project=my-project", {{"name", name}});
        SAME(answer.status, 400);
        SAME(answer.message(), "Invalid bucket name: '" + std::string(name) + "'");
    }
    const json nowhere{{"name", "b2"}, {"location", "mars-north1"}};
    SAME(buckets.call("POST /storage/v1/b?project=my-project", nowhere).status, 400);
    SAME(buckets.call("POST /storage/v1/b?project=strange", {{"name", "bucket2"}}).status, 404);
}

void TestStorageServices::bucketsAreMadeOnce()
{
    Buckets buckets;
    const Answer again = buckets.call("POST /storage/v1/b?project=my-project", {{"name", "bkt1x"}});
    SAME(again.status, 200);
    const Answer twice = buckets.call("POST /storage/v1/b?project=my-project", {{"name", "bkt1x"}});
    SAME(twice.status, 409);
    SAME(twice.message(),
         "Your previous request to create the named bucket succeeded and you already own it.");
    SAME(twice.body["error"]["errors"][0]["reason"], "conflict");
    SAME(namesOf(buckets.call("GET /storage/v1/b?project=my-project")), json::array({"bkt1", "bkt1x"}));
}

void TestStorageServices::fullBucketsStay()
{
    Buckets buckets;
    buckets.put("a", "1");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").message(), "The bucket you tried to delete is not empty.");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/a").status, 204);
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").status, 204);
    SAME(buckets.call("GET /storage/v1/b/bkt1").message(), "The specified bucket does not exist.");
}

void TestStorageServices::bucketPoliciesAreWrittenBackByTheirEtag()
{
    Buckets buckets;
    const std::string iam = "/storage/v1/b/bkt1/iam";
    json policy = buckets.call("GET " + iam + "?optionsRequestedPolicyVersion=3").body;
    SAME(policy["resourceId"], "projects/_/buckets/bkt1");
    policy["bindings"].push_back({{"role", "roles/storage.objectUser"}, {"members", {"user:a@example.com"}}});
    policy["version"] = 3;
    SAME(buckets.call("PUT " + iam, policy).status, 200);
    const Answer stale = buckets.call("PUT " + iam, policy);
    SAME(stale.status, 412);
    SAME(stale.body["error"]["errors"][0]["reason"], "conditionNotMet");
    SAME(buckets.call("GET /storage/v1/b/b2/iam").status, 404);
}

void TestStorageServices::whatGoesInComesOut()
{
    Buckets buckets;
    std::string bytes("\0\xff\r\n--\n", 7);
    bytes += std::string(100000, 'x');
    const Answer made = buckets.put("folder/a file ü", bytes);
    SAME(made.status, 200);
    SAME(made.body["size"], "100007");
    SAME(made.body["contentType"], "text/plain");
    QVERIFY(buckets.bytesOf("folder/a file ü") == bytes);
    const Answer seen = buckets.call("GET /storage/v1/b/bkt1/o/" + urlEncoded("folder/a file ü"));
    SAME(seen.body, made.body);
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/none").message(), "No such object: bkt1/none");
}

void TestStorageServices::wrongChecksumsWriteNothing()
{
    Buckets buckets;
    const std::string id = buckets.begin("a", {}, {{"md5Hash", "1B2M2Y8AsgTpgAmY7PhCfg=="}});
    const Answer answer = buckets.send(id, "bytes 0-2/3", "abc");
    SAME(answer.status, 400);
    QVERIFY(answer.message().find("doesn't match calculated MD5 hash") != std::string::npos);
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/a").status, 404);
    SAME(buckets.files(), 0);
}

void TestStorageServices::rangesAreServed()
{
    Buckets buckets;
    buckets.put("a", "0123456789");
    const auto part = [&](const std::string &range) {
        return buckets.call("GET /storage/v1/b/bkt1/o/a?alt=media", {}, {{"range", range}});
    };
    SAME(part("bytes=2-4").response.body, "234");
    SAME(part("bytes=2-4").header("content-range"), "bytes 2-4/10");
    SAME(part("bytes=2-4").status, 206);
    SAME(part("bytes=7-").response.body, "789");
    SAME(part("bytes=-2").response.body, "89");
    SAME(part("bytes=8-99").response.body, "89");
    SAME(part("bytes=10-").status, 416);
    SAME(part("bytes=5-2").status, 200); // no range at all
    SAME(part("lines=1-2").status, 200);
}

void TestStorageServices::generationsGuardWrites()
{
    Buckets buckets;
    const std::string first = buckets.put("a", "1", "&ifGenerationMatch=0").body["generation"];
    SAME(buckets.put("a", "2", "&ifGenerationMatch=0").status, 412);
    const std::string second = buckets.put("a", "2", "&ifGenerationMatch=" + first).body["generation"];
    QVERIFY(std::stoll(second) > std::stoll(first));
    SAME(buckets.bytesOf("a"), "2");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/a?ifGenerationMatch=" + first).status, 412);
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/a?ifGenerationNotMatch=" + second).status, 304);
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/a?generation=" + first).status, 404); // not kept
    SAME(buckets.files(), 1);
}

void TestStorageServices::versionsAreKeptWhereAsked()
{
    Buckets buckets({{"name", "bkt1"}, {"versioning", {{"enabled", true}}}});
    const std::string first = buckets.put("a", "1").body["generation"];
    buckets.put("a", "2");
    buckets.put("b", "3");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/b").status, 204);
    SAME(namesOf(buckets.call("GET /storage/v1/b/bkt1/o")), json::array({"a"}));
    const Answer all = buckets.call("GET /storage/v1/b/bkt1/o?versions=true");
    SAME(namesOf(all), json::array({"a", "a", "b"}));
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/a?alt=media&generation=" + first).response.body, "1");
    // Page by page it is the same.
    const Answer page = buckets.call("GET /storage/v1/b/bkt1/o?versions=true&maxResults=1");
    const std::string token = urlEncoded(page.body["nextPageToken"].get<std::string>());
    SAME(namesOf(buckets.call("GET /storage/v1/b/bkt1/o?versions=true&pageToken=" + token)),
         json::array({"a", "b"}));
    for (const json &item : all.body["items"]) {
        const std::string line = "DELETE /storage/v1/b/bkt1/o/" + item["name"].get<std::string>()
            + "?generation=" + item["generation"].get<std::string>();
        SAME(buckets.call(line).status, 204);
    }
    SAME(buckets.files(), 0);
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").status, 204);
}

void TestStorageServices::listsByPrefixDelimiterAndPage()
{
    Buckets buckets;
    for (const char *name : {"a", "d/1", "d/2", "d/e/3", "dz", "f/", "f/4"})
        buckets.put(name, "x");
    const Answer top = buckets.call("GET /storage/v1/b/bkt1/o?delimiter=/");
    SAME(namesOf(top), json::array({"a", "dz"}));
    SAME(top.body["prefixes"], json::array({"d/", "f/"}));
    const Answer below = buckets.call("GET /storage/v1/b/bkt1/o?delimiter=/&prefix=d/");
    SAME(namesOf(below), json::array({"d/1", "d/2"}));
    SAME(below.body["prefixes"], json::array({"d/e/"}));
    SAME(namesOf(buckets.call("GET /storage/v1/b/bkt1/o?prefix=d")),
         json::array({"d/1", "d/2", "d/e/3", "dz"}));
    SAME(namesOf(buckets.call("GET /storage/v1/b/bkt1/o?startOffset=d/2&endOffset=dz")),
         json::array({"d/2", "d/e/3"}));

    json seen = json::array();
    std::string token;
    for (int pages = 0; pages < 10; ++pages) {
        const Answer page
            = buckets.call("GET /storage/v1/b/bkt1/o?delimiter=/&maxResults=1&pageToken=" + token);
        for (const json &name : namesOf(page))
            seen.push_back(name);
        for (const json &prefix : page.body.value("prefixes", json::array()))
            seen.push_back(prefix);
        token = urlEncoded(page.body.value("nextPageToken", std::string()));
        if (token.empty())
            break;
    }
    SAME(seen, json::array({"a", "d/", "dz", "f/"}));
}

void TestStorageServices::namesAreNoPaths()
{
    Buckets buckets;
    for (const std::string name : {"/etc/passwd", "..hidden", "C:\\x", "a//b", "\x01"})
        SAME(buckets.put(name, "x").status, 200);
    for (const std::string name : {"", ".", "..", "two\nlines", "\xff\xfe"})
        SAME(buckets.put(name, "x").status, 400);
    const QDir folder(QString::fromStdString(buckets.stand.folder()));
    SAME(folder.entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot).filter("gcp.sqlite").size()
             + 1,
         folder.entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot).size());
    const QRegularExpression ours("^[0-9a-f]{32}$");
    for (const QString &file :
         QDir(folder.filePath("buckets/objects")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot))
        QVERIFY2(ours.match(file).hasMatch(), qPrintable(file));
}

void TestStorageServices::multipartBodiesAreSplit()
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

void TestStorageServices::brokenMultipartBodiesAreRefused()
{
    for (const std::string body : {"", "--b", "--b\n", "--b\n\n{}", "--b\n\n{}\n--b", "--b\n\n{}\n--b--",
                                   "--b\n\n{}\n--b\n\nbytes", "--c\n\n{}\n--c\n\nbytes\n--c--"})
        QVERIFY(!splitRelated("multipart/related; boundary=b", body));
    QVERIFY(!splitRelated("multipart/related", "--b\n\n{}\n--b\n\nbytes\n--b--"));
}

void TestStorageServices::uploadsResumeAfterARestart()
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

void TestStorageServices::uploadsMayEndWithoutKnowingBefore()
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

void TestStorageServices::aLostAnswerIsGivenAgain()
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

void TestStorageServices::conditionsOfTheBeginningHoldAtTheEnd()
{
    Buckets buckets;
    const std::string id = buckets.begin("a", "&ifGenerationMatch=0");
    buckets.put("a", "somebody was faster");
    SAME(buckets.send(id, "bytes 0-0/1", "x").status, 412);
    SAME(buckets.bytesOf("a"), "somebody was faster");
    SAME(buckets.files(), 1);
}

void TestStorageServices::cancelledUploadsAreGone()
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

void TestStorageServices::contentRangesAreRead()
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

void TestStorageServices::copiesOutliveTheirSource()
{
    Buckets buckets;
    buckets.put("a", "bytes");
    const Answer copied = buckets.call("POST /storage/v1/b/bkt1/o/a/rewriteTo/b/bkt1/o/d%2Fcopy");
    SAME(copied.body["done"], true);
    SAME(copied.body["resource"]["name"], "d/copy");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/a").status, 204);
    buckets.restart();
    SAME(buckets.bytesOf("d/copy"), "bytes");
    SAME(buckets.call("POST /storage/v1/b/bkt1/o/a/copyTo/b/bkt1/o/b").status, 404);
    SAME(buckets.call("POST /storage/v1/b/bkt1/o/d%2Fcopy/copyTo/b/b9/o/b").status, 404);
}

void TestStorageServices::composesInOrder()
{
    Buckets buckets;
    buckets.put("p2", "two");
    buckets.put("p1", "one");
    json sources = json::array({{{"name", "p1"}}, {{"name", "p2"}}});
    const Answer made = buckets.call("POST /storage/v1/b/bkt1/o/all/compose", {{"sourceObjects", sources}});
    SAME(made.body["componentCount"], 2);
    QVERIFY(!made.body.contains("md5Hash"));
    SAME(buckets.bytesOf("all"), "onetwo");
    sources.push_back({{"name", "p3"}});
    SAME(buckets.call("POST /storage/v1/b/bkt1/o/all/compose", {{"sourceObjects", sources}}).status, 404);
    SAME(buckets.files(), 3);
}

void TestStorageServices::aFullDiskLeavesNothingHalfWritten()
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

void TestStorageServices::restartSweepsWhatNobodyKeeps()
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

void TestStorageServices::cachesLiveInAZoneOfTheBucket()
{
    Buckets buckets;
    const std::string caches = "/storage/v1/b/bkt1/anywhereCaches";
    const auto make = [&](const char *zone, const char *ttl = "86400s") {
        return buckets.call("POST " + caches, {{"zone", zone}, {"ttl", ttl}});
    };
    SAME(make("us-east1-b").status, 400);
    SAME(make("us-central1-a", "60s").status, 400);
    const Answer begun = make("us-central1-a");
    const std::string operation = begun.body["name"];
    QVERIFY(operation.starts_with("projects/_/buckets/bkt1/operations/"));
    SAME(buckets.call("GET " + caches + "/us-central1-a").body["state"], "creating");
    SAME(make("us-central1-a").status, 409);
    buckets.stand.pass(11s); // ten minutes of Google's
    SAME(buckets.call("GET " + caches + "/us-central1-a").body["state"], "running");
    const std::string id = operation.substr(operation.rfind('/') + 1);
    SAME(buckets.call("GET /storage/v1/b/bkt1/operations/" + id).body["done"], true);
    QVERIFY(buckets.call("DELETE /storage/v1/b/bkt1").message().find("anywhere cache") != std::string::npos);
    SAME(buckets.call("POST " + caches + "/us-central1-a/resume").status, 400);
    SAME(buckets.call("POST " + caches + "/us-central1-a/disable").body["state"], "disabled");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").status, 204);
    SAME(make("us-central1-a").message(), "The specified bucket does not exist.");
}

void TestStorageServices::foldersAppearWithObjects()
{
    Buckets buckets({{"name", "bkt1"},
                     {"hierarchicalNamespace", {{"enabled", true}}},
                     {"iamConfiguration", {{"uniformBucketLevelAccess", {{"enabled", true}}}}}});
    SAME(buckets.call("GET /storage/v1/b/bkt1/storageLayout").body["hierarchicalNamespace"]["enabled"], true);
    buckets.put("a/b/c", "x");
    SAME(namesOf(buckets.call("GET /storage/v1/b/bkt1/folders")), json::array({"a/", "a/b/"}));
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/folders/a%2Fb%2F").status, 409);
    buckets.call("DELETE /storage/v1/b/bkt1/o/a%2Fb%2Fc");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/folders/a%2Fb%2F").status, 204);
    SAME(buckets.call("POST /storage/v1/b/bkt1/folders", {{"name", "x/y"}}).status, 400); // no x/
    SAME(buckets.call("POST /storage/v1/b/bkt1/folders?recursive=true", {{"name", "x/y"}}).body["name"],
         "x/y/");
    const json flat{{"name", "b2"}, {"hierarchicalNamespace", {{"enabled", true}}}};
    SAME(buckets.call("POST /storage/v1/b?project=my-project", flat).status, 400);
}

QTEST_APPLESS_MAIN(TestStorageServices)
#include "tst_storage_services.moc"
