#include "cluster/local/gcp/storage_checksums.h"
#include "tests/local/services/storage_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::Buckets;
using tests::namesOf;

class TestStorageObjects : public QObject
{
    Q_OBJECT

private slots:
    void checksumsAreGooglesForm();
    void whatGoesInComesOut();
    void wrongChecksumsWriteNothing();
    void rangesAreServed();
    void generationsGuardWrites();
    void versionsAreKeptWhereAsked();
    void listsByPrefixDelimiterAndPage();
    void namesAreNoPaths();
    void copiesOutliveTheirSource();
    void composesInOrder();
};

void TestStorageObjects::checksumsAreGooglesForm()
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

void TestStorageObjects::whatGoesInComesOut()
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

void TestStorageObjects::wrongChecksumsWriteNothing()
{
    Buckets buckets;
    const std::string id = buckets.begin("a", {}, {{"md5Hash", "1B2M2Y8AsgTpgAmY7PhCfg=="}});
    const Answer answer = buckets.send(id, "bytes 0-2/3", "abc");
    SAME(answer.status, 400);
    QVERIFY(answer.message().find("doesn't match calculated MD5 hash") != std::string::npos);
    SAME(buckets.call("GET /storage/v1/b/bkt1/o/a").status, 404);
    SAME(buckets.files(), 0);
}

void TestStorageObjects::rangesAreServed()
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

void TestStorageObjects::generationsGuardWrites()
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

void TestStorageObjects::versionsAreKeptWhereAsked()
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

void TestStorageObjects::listsByPrefixDelimiterAndPage()
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

void TestStorageObjects::namesAreNoPaths()
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

void TestStorageObjects::copiesOutliveTheirSource()
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

void TestStorageObjects::composesInOrder()
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

QTEST_APPLESS_MAIN(TestStorageObjects)
#include "tst_storage_objects.moc"
