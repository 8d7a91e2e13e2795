#include "tests/local/services/storage_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
using tests::Answer;
using tests::Buckets;

namespace {

const std::string kObject = "/storage/v1/b/bkt1/o/a";

json uniformBucket()
{
    return {{"name", "bkt1"}, {"iamConfiguration", {{"uniformBucketLevelAccess", {{"enabled", true}}}}}};
}

/// {entity: role}.
json rolesOf(const json &list)
{
    json roles = json::object();
    for (const json &one : list)
        roles[one.value("entity", std::string())] = one.value("role", std::string());
    return roles;
}

} // namespace

class TestStorageAcls : public QObject
{
    Q_OBJECT

private slots:
    void listsAreShownToThoseWhoAsk();
    void predefinedListsAreTheirEntries();
    void resumableUploadsKeepTheirList();
    void entriesAreResourcesOfTheirOwn();
    void defaultsAreForNewObjectsOnly();
    void aCopyHasTheListOfANewObject();
    void wrongListsAreRefused();
    void uniformBucketsHaveNone();
    void publicAccessMayBePrevented();
};

void TestStorageAcls::listsAreShownToThoseWhoAsk()
{
    Buckets buckets;
    QCOMPARE(buckets.put("a", "x").status, 200);
    QVERIFY(!buckets.call("GET " + kObject).body.contains("acl"));
    QVERIFY(!buckets.call("GET " + kObject + "?projection=noAcl").body.contains("acl"));
    const Answer full = buckets.call("GET " + kObject + "?projection=full");
    SAME(rolesOf(full.body["acl"]),
         json({{"project-owners-123456789012", "OWNER"},
               {"project-editors-123456789012", "OWNER"},
               {"project-viewers-123456789012", "READER"},
               {"user-you@slipway.local", "OWNER"}}));
    SAME(full.body["owner"]["entity"], "user-you@slipway.local");
    SAME(full.body["acl"][0]["projectTeam"], json({{"team", "owners"}, {"projectNumber", "123456789012"}}));
    const Answer bucket = buckets.call("GET /storage/v1/b/bkt1?projection=full");
    QCOMPARE(bucket.body["acl"].size(), std::size_t{3});
    QCOMPARE(bucket.body["defaultObjectAcl"].size(), std::size_t{3});
    QVERIFY(!buckets.call("GET /storage/v1/b/bkt1").body.contains("acl"));
    QVERIFY(buckets.call("GET /storage/v1/b/bkt1/o?projection=full").body["items"][0].contains("acl"));
}

void TestStorageAcls::predefinedListsAreTheirEntries()
{
    Buckets buckets;
    const Answer made = buckets.put("a", "x", "&predefinedAcl=publicRead");
    QCOMPARE(made.status, 200);
    SAME(rolesOf(made.body["acl"]), json({{"allUsers", "READER"}, {"user-you@slipway.local", "OWNER"}}));
    const Answer patched = buckets.call("PATCH " + kObject + "?predefinedAcl=private", json::object());
    QCOMPARE(patched.status, 200);
    SAME(rolesOf(patched.body["acl"]), json({{"user-you@slipway.local", "OWNER"}}));
    const Answer given = buckets.call("PATCH " + kObject + "?projection=full",
                                      {{"acl", {{{"entity", "group-a@b.c"}, {"role", "READER"}}}}});
    SAME(rolesOf(given.body["acl"]), json({{"group-a@b.c", "READER"}, {"user-you@slipway.local", "OWNER"}}));
    const Answer other
        = buckets.call("PATCH " + kObject + "?projection=full", {{"contentType", "text/html"}});
    QCOMPARE(other.body["acl"].size(), std::size_t{2}); // nothing was said of it
}

void TestStorageAcls::resumableUploadsKeepTheirList()
{
    Buckets buckets;
    const std::string id = buckets.begin("a", "&predefinedAcl=authenticatedRead");
    buckets.restart();
    QCOMPARE(buckets.send(id, "bytes 0-0/1", "x").status, 200);
    SAME(rolesOf(buckets.call("GET " + kObject + "?projection=full").body["acl"]),
         json({{"allAuthenticatedUsers", "READER"}, {"user-you@slipway.local", "OWNER"}}));
}

void TestStorageAcls::entriesAreResourcesOfTheirOwn()
{
    Buckets buckets;
    buckets.put("a", "x");
    const Answer added
        = buckets.call("POST " + kObject + "/acl", {{"entity", "allUsers"}, {"role", "READER"}});
    QCOMPARE(added.status, 200);
    SAME(added.body["kind"], "storage#objectAccessControl");
    QCOMPARE(buckets.call("GET " + kObject + "/acl").body["items"].size(), std::size_t{5});
    SAME(buckets.call("PATCH " + kObject + "/acl/allUsers", {{"role", "OWNER"}}).body["role"], "OWNER");
    QCOMPARE(buckets.call("DELETE " + kObject + "/acl/allUsers").status, 204);
    QCOMPARE(buckets.call("GET " + kObject + "/acl/allUsers").status, 404);
    QCOMPARE(buckets.call("DELETE " + kObject + "/acl/allUsers").status, 404);
    const std::string ofBucket = "/storage/v1/b/bkt1/acl";
    QCOMPARE(buckets.call("POST " + ofBucket, {{"entity", "user-a@b.c"}, {"role", "WRITER"}}).status, 200);
    SAME(buckets.call("GET " + ofBucket + "/user-a@b.c").body["email"], "a@b.c");
    QCOMPARE(buckets.call("POST " + ofBucket + "/user-a@b.c", json::object()).status, 404);
}

void TestStorageAcls::defaultsAreForNewObjectsOnly()
{
    Buckets buckets;
    buckets.put("old", "x");
    QCOMPARE(
        buckets.call("PATCH /storage/v1/b/bkt1?predefinedDefaultObjectAcl=publicRead", json::object()).status,
        200);
    buckets.put("a", "x");
    QVERIFY(rolesOf(buckets.call("GET " + kObject + "?projection=full").body["acl"]).contains("allUsers"));
    QVERIFY(!rolesOf(buckets.call("GET /storage/v1/b/bkt1/o/old?projection=full").body["acl"])
                 .contains("allUsers"));
}

void TestStorageAcls::aCopyHasTheListOfANewObject()
{
    Buckets buckets;
    buckets.put("a", "x", "&predefinedAcl=publicRead");
    buckets.call("POST " + kObject + "/rewriteTo/b/bkt1/o/b", json::object());
    QVERIFY(!rolesOf(buckets.call("GET /storage/v1/b/bkt1/o/b?projection=full").body["acl"])
                 .contains("allUsers"));
    const Answer copied = buckets.call(
        "POST " + kObject + "/rewriteTo/b/bkt1/o/c?destinationPredefinedAcl=publicRead", json::object());
    QVERIFY(rolesOf(copied.body["resource"]["acl"]).contains("allUsers"));
}

void TestStorageAcls::wrongListsAreRefused()
{
    Buckets buckets;
    QCOMPARE(buckets.put("a", "x", "&predefinedAcl=everybody").status, 400);
    QCOMPARE(buckets.put("a", "x", "&predefinedAcl=publicReadWrite").status, 400); // only buckets can
    QCOMPARE(buckets.call("GET " + kObject).status, 404);
    QCOMPARE(buckets.files(), 0);
    buckets.put("a", "x");
    QCOMPARE(buckets.call("POST " + kObject + "/acl", {{"entity", "allUsers"}, {"role", "WRITER"}}).status,
             400);
    QCOMPARE(buckets.call("POST " + kObject + "/acl", {{"entity", "nobody"}, {"role", "READER"}}).status,
             400);
}

void TestStorageAcls::uniformBucketsHaveNone()
{
    Buckets buckets(uniformBucket());
    const Answer refused = buckets.put("a", "x", "&predefinedAcl=publicRead");
    QCOMPARE(refused.status, 400);
    SAME(refused.message(),
         "Cannot insert legacy ACL for an object when uniform bucket-level access is enabled. Read more at "
         "https://cloud.google.com/storage/docs/uniform-bucket-level-access");
    SAME(refused.body["error"]["errors"][0]["reason"], "invalid");
    QCOMPARE(buckets
                 .call("POST /resumable/upload/storage/v1/b/bkt1/o?uploadType=resumable&name=a"
                       "&predefinedAcl=publicRead")
                 .status,
             400);
    buckets.put("a", "x");
    QVERIFY(!buckets.call("GET " + kObject + "?projection=full").body.contains("acl"));
    QVERIFY(!buckets.call("GET /storage/v1/b/bkt1?projection=full").body.contains("acl"));
    QVERIFY(buckets.call("GET " + kObject + "/acl").message().starts_with("Cannot get legacy ACL"));
    QVERIFY(buckets.call("GET /storage/v1/b/bkt1/acl").message().starts_with("Cannot get legacy ACL"));
    for (const char *line : {"PATCH /storage/v1/b/bkt1?predefinedAcl=private",
                             "PATCH /storage/v1/b/bkt1?predefinedDefaultObjectAcl=private",
                             "POST /storage/v1/b/bkt1/defaultObjectAcl"}) {
        const Answer answer = buckets.call(line, json::object());
        QCOMPARE(answer.status, 400);
        QVERIFY2(answer.message().starts_with("Cannot use ACL API to update bucket policy"), line);
    }
    QCOMPARE(buckets.call("PATCH " + kObject + "?predefinedAcl=private", json::object()).status, 400);
    SAME(buckets.call("GET /storage/v1/b/bkt1").body["metageneration"], "1"); // nothing was changed
}

void TestStorageAcls::publicAccessMayBePrevented()
{
    Buckets buckets({{"name", "bkt1"}, {"iamConfiguration", {{"publicAccessPrevention", "enforced"}}}});
    QCOMPARE(buckets.put("a", "x", "&predefinedAcl=publicRead").status, 412);
    QCOMPARE(buckets.put("a", "x", "&predefinedAcl=private").status, 200);
}

QTEST_APPLESS_MAIN(TestStorageAcls)
#include "tst_storage_acls.moc"
