#include "tests/local/services/storage_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::Buckets;
using tests::namesOf;

class TestStorageBuckets : public QObject
{
    Q_OBJECT

private slots:
    void aBucketHasGooglesFields();
    void bucketNamesFollowTheRules();
    void bucketsAreMadeOnce();
    void fullBucketsStay();
    void bucketPoliciesAreWrittenBackByTheirEtag();
    void cachesLiveInAZoneOfTheBucket();
    void foldersAppearWithObjects();
};

void TestStorageBuckets::aBucketHasGooglesFields()
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

void TestStorageBuckets::bucketNamesFollowTheRules()
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

void TestStorageBuckets::bucketsAreMadeOnce()
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

void TestStorageBuckets::fullBucketsStay()
{
    Buckets buckets;
    buckets.put("a", "1");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").message(), "The bucket you tried to delete is not empty.");
    SAME(buckets.call("DELETE /storage/v1/b/bkt1/o/a").status, 204);
    SAME(buckets.call("DELETE /storage/v1/b/bkt1").status, 204);
    SAME(buckets.call("GET /storage/v1/b/bkt1").message(), "The specified bucket does not exist.");
}

void TestStorageBuckets::bucketPoliciesAreWrittenBackByTheirEtag()
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

void TestStorageBuckets::cachesLiveInAZoneOfTheBucket()
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

void TestStorageBuckets::foldersAppearWithObjects()
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

QTEST_APPLESS_MAIN(TestStorageBuckets)
#include "tst_storage_buckets.moc"
