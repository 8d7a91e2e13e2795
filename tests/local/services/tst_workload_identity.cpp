#include "cluster/httpd/request_target.h"
#include "cluster/local/gcp/iam_service.h"
#include "cluster/local/gcp/resourcemanager_service.h"
#include "cluster/local/gcp/role_permissions.h"
#include "cluster/local/gcp/workload_identity.h"
#include "tests/local/services/storage_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
using tests::Answer;
using tests::Buckets;

namespace {

const std::string kGsa = "reader@my-project.iam.gserviceaccount.com";
const std::string kPrincipal = "principal://iam.googleapis.com/projects/123456789012/locations/global/"
                               "workloadIdentityPools/my-project.svc.id.goog/subject/ns/ai/sa/ksa";
const std::string kFederated = "serviceAccount:my-project.svc.id.goog[ai/ksa]";

/// A bucket bkt1 with an object, the service account `reader`, and a pod of ai/ksa.
class Stand
{
public:
    Stand()
        : iam(buckets.stand.context()), crm(buckets.stand.context()),
          identity(buckets.stand.context(), tokens), gate(buckets.stand.context())
    {
        buckets.put("weights", "w");
        buckets.stand.call(iam, "POST /v1/projects/my-project/serviceAccounts", {{"accountId", "reader"}});
    }

    static PodIdentity pod(const std::string &googleAccount = {})
    {
        return {"my-project", "us-east5-b", "c1", "my-project.svc.id.goog", "ai", "ksa", googleAccount};
    }
    void bindUser(const std::string &member)
    {
        const Answer done = buckets.stand.call(
            iam, "POST /v1/projects/-/serviceAccounts/" + kGsa + ":setIamPolicy",
            {{"policy",
              {{"bindings",
                json::array({{{"role", "roles/iam.workloadIdentityUser"}, {"members", {member}}}})}}}});
        if (done.status != 200)
            qFatal("%s", done.response.body.c_str());
    }
    void bindBucket(const std::string &role, const std::string &member)
    {
        const Answer done
            = buckets.call("PUT /storage/v1/b/bkt1/iam",
                           {{"bindings", json::array({{{"role", role}, {"members", {member}}}})}});
        if (done.status != 200)
            qFatal("%s", done.response.body.c_str());
    }
    void bindProject(const std::string &role, const std::string &member)
    {
        const Answer done = buckets.stand.call(
            crm, "POST /v1/projects/my-project:setIamPolicy",
            {{"policy", {{"bindings", json::array({{{"role", role}, {"members", {member}}}})}}}});
        if (done.status != 200)
            qFatal("%s", done.response.body.c_str());
    }
    /// What the gate says to a request with the pod's token; empty: it may.
    QString refusal(const PodIdentity &who, const std::string &line, const std::string &service = "storage")
    {
        const auto verdict = judge(who, line, service);
        return verdict.refusal ? QString::fromStdString(verdict.refusal->message) : QString();
    }
    CallerGate::Verdict judge(const PodIdentity &who, const std::string &line,
                              const std::string &service = "storage")
    {
        const auto token = identity.accessToken(who);
        if (!token)
            qFatal("%s", token.error().message.c_str());
        const auto caller = tokens.find(token->text, buckets.stand.context().now());
        ServerRequest request;
        request.method = line.substr(0, line.find(' '));
        request.target = line.substr(line.find(' ') + 1);
        if (!caller || !readTarget(request.target, request))
            qFatal("no caller, or no target");
        return gate.judge(*caller, service, request, request.segments);
    }

    Buckets buckets;
    IamService iam;
    ResourceManagerService crm;
    AccessTokens tokens;
    WorkloadIdentity identity;
    CallerGate gate;
};

} // namespace

class TestWorkloadIdentity : public QObject
{
    Q_OBJECT

private slots:
    void withoutABindingThereIsNoToken();
    void theBindingNamesOneAccountOfOneNamespace();
    void thePrincipalItselfCanBeBoundToo();
    void anAccountThatIsMissingOrDisabled();
    void theAccountNeedsTheBucket();
    void thePrincipalNeedsTheBucket();
    void theNumberAndTheIdAreNotInterchangeable();
    void eachMethodTakesItsPermission_data();
    void eachMethodTakesItsPermission();
    void whoMayTestPermissions();
    void whatPodsAreNeverAllowed();
    void rolesOfTheProjectReachTheBucket();
    void monitoringTakesItsRole();
    void nodesHaveTheirOwnAccount();
    void tokensEnd();
    void identityTokens();
    void mountsAskTheSame();
};

void TestWorkloadIdentity::withoutABindingThereIsNoToken()
{
    Stand stand;
    const auto token = stand.identity.accessToken(Stand::pod(kGsa));
    QVERIFY(!token);
    QVERIFY(token.error().code == ErrorCode::PermissionDenied);
    QCOMPARE(
        token.error().message,
        std::string(
            "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist)."));
    stand.bindUser(kFederated);
    QVERIFY(stand.identity.accessToken(Stand::pod(kGsa)));
}

void TestWorkloadIdentity::theBindingNamesOneAccountOfOneNamespace()
{
    Stand stand;
    stand.bindUser(kFederated);
    PodIdentity other = Stand::pod(kGsa);
    other.nameSpace = "default";
    QVERIFY(!stand.identity.accessToken(other));
    other = Stand::pod(kGsa);
    other.serviceAccount = "default";
    QVERIFY(!stand.identity.accessToken(other));
    stand.bindBucket("roles/iam.workloadIdentityUser", kFederated); // on the wrong resource
    QVERIFY(!stand.identity.accessToken(other));
}

void TestWorkloadIdentity::thePrincipalItselfCanBeBoundToo()
{
    Stand stand;
    stand.bindUser(kPrincipal);
    QVERIFY(stand.identity.accessToken(Stand::pod(kGsa)));
}

void TestWorkloadIdentity::anAccountThatIsMissingOrDisabled()
{
    Stand stand;
    stand.bindUser(kFederated);
    QVERIFY(!stand.identity.accessToken(Stand::pod("nobody@my-project.iam.gserviceaccount.com")));
    stand.buckets.stand.call(stand.iam, "POST /v1/projects/-/serviceAccounts/" + kGsa + ":disable");
    QVERIFY(!stand.identity.accessToken(Stand::pod(kGsa)));
    stand.buckets.stand.call(stand.iam, "POST /v1/projects/-/serviceAccounts/" + kGsa + ":enable");
    QVERIFY(stand.identity.accessToken(Stand::pod(kGsa)));
}

void TestWorkloadIdentity::theAccountNeedsTheBucket()
{
    Stand stand;
    stand.bindUser(kFederated);
    const std::string list = "GET /storage/v1/b/bkt1/o";
    QCOMPARE(stand.refusal(Stand::pod(kGsa), list),
             QString::fromStdString(
                 kGsa
                 + " does not have storage.objects.list access to the Google Cloud Storage bucket. "
                   "Permission 'storage.objects.list' denied on resource (or it may not exist)."));
    stand.bindBucket("roles/storage.objectViewer", "serviceAccount:" + kGsa);
    QCOMPARE(stand.refusal(Stand::pod(kGsa), list), QString());
    QVERIFY(!stand.refusal(Stand::pod(), list).isEmpty()); // without the annotation it is somebody else
}

void TestWorkloadIdentity::thePrincipalNeedsTheBucket()
{
    Stand stand;
    const std::string get = "GET /storage/v1/b/bkt1/o/weights?alt=media";
    QCOMPARE(
        stand.refusal(Stand::pod(), get),
        QString(
            "Caller does not have storage.objects.get access to the Google Cloud Storage object. Permission "
            "'storage.objects.get' denied on resource (or it may not exist)."));
    stand.bindBucket("roles/storage.objectViewer", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), get), QString());
    stand.bindBucket("roles/storage.objectViewer",
                     "principalSet://iam.googleapis.com/projects/123456789012/locations/global/"
                     "workloadIdentityPools/my-project.svc.id.goog/namespace/ai");
    QCOMPARE(stand.refusal(Stand::pod(), get), QString());
}

void TestWorkloadIdentity::theNumberAndTheIdAreNotInterchangeable()
{
    Stand stand;
    stand.bindBucket(
        "roles/storage.objectViewer",
        "principal://iam.googleapis.com/projects/my-project/locations/global/workloadIdentityPools/"
        "123456789012.svc.id.goog/subject/ns/ai/sa/ksa"); // binds nobody, and is no error
    QVERIFY(!stand.refusal(Stand::pod(), "GET /storage/v1/b/bkt1/o").isEmpty());
}

void TestWorkloadIdentity::eachMethodTakesItsPermission_data()
{
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("role");
    QTest::addColumn<bool>("mayView");
    const auto row = [](const char *line, const char *role, bool mayView) {
        QTest::newRow(line) << line << role << mayView;
    };
    row("GET /storage/v1/b/bkt1", "roles/storage.legacyBucketReader", false);
    row("GET /storage/v1/b/bkt1/o", "roles/storage.objectViewer", true);
    row("GET /storage/v1/b/bkt1/o/weights", "roles/storage.objectViewer", true);
    row("GET /download/storage/v1/b/bkt1/o/weights?alt=media", "roles/storage.objectViewer", true);
    row("POST /upload/storage/v1/b/bkt1/o?uploadType=media&name=a", "roles/storage.objectCreator", false);
    row("POST /resumable/upload/storage/v1/b/bkt1/o?uploadType=resumable", "roles/storage.objectCreator",
        false);
    row("PUT /upload/storage/v1/b/bkt1/o?upload_id=1", "roles/storage.objectUser", false);
    row("DELETE /storage/v1/b/bkt1/o/weights", "roles/storage.objectUser", false);
    row("PATCH /storage/v1/b/bkt1/o/weights", "roles/storage.objectAdmin", false);
    row("POST /storage/v1/b/bkt1/o/a/compose", "roles/storage.objectUser", false);
    row("POST /storage/v1/b/bkt1/o/a/rewriteTo/b/bkt1/o/b", "roles/storage.objectUser", false);
    row("GET /storage/v1/b/bkt1/folders", "roles/storage.objectViewer", true);
    row("POST /storage/v1/b/bkt1/folders", "roles/storage.objectUser", false);
    row("GET /storage/v1/b/bkt1/iam", "roles/storage.legacyBucketOwner", false);
    row("DELETE /storage/v1/b/bkt1", "roles/storage.admin", false);
}

void TestWorkloadIdentity::eachMethodTakesItsPermission()
{
    QFETCH(QString, line);
    QFETCH(QString, role);
    QFETCH(bool, mayView);
    Stand stand;
    QVERIFY(!stand.refusal(Stand::pod(), line.toStdString()).isEmpty());
    stand.bindBucket(role.toStdString(), kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), line.toStdString()), QString());
    stand.bindBucket("roles/storage.objectViewer", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), line.toStdString()).isEmpty(), mayView);
}

void TestWorkloadIdentity::whoMayTestPermissions()
{
    Stand stand;
    stand.bindBucket("roles/storage.objectViewer", kPrincipal);
    const auto verdict
        = stand.judge(Stand::pod(),
                      "GET /storage/v1/b/bkt1/iam/testPermissions?permissions=storage.objects.get&"
                      "permissions=storage.objects.create&permissions=storage.objects.list");
    QVERIFY(!verdict.refusal && verdict.answer);
    SAME(json::parse(verdict.answer->body).at("permissions"),
         json({"storage.objects.get", "storage.objects.list"}));
}

void TestWorkloadIdentity::whatPodsAreNeverAllowed()
{
    Stand stand;
    stand.bindProject("roles/owner", kPrincipal);
    for (const char *service : {"container", "iam", "crm", "serviceusage", "slipway", "compute"})
        QCOMPARE(stand.refusal(Stand::pod(), "GET /v1/projects/my-project", service),
                 QString("The caller does not have permission"));
    QVERIFY(!stand.refusal(Stand::pod(), "POST /storage/v1/b?project=my-project").isEmpty());
    // What isn't there is the service's to say.
    QCOMPARE(stand.refusal(Stand::pod(), "GET /storage/v1/b/nothere/o"),
             QString("The specified bucket does not exist."));
}

void TestWorkloadIdentity::rolesOfTheProjectReachTheBucket()
{
    Stand stand;
    stand.bindProject("roles/storage.objectViewer", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), "GET /storage/v1/b/bkt1/o"), QString());
    // A basic role by way of the bucket's own bindings for the project's teams.
    stand.bindProject("roles/viewer", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), "GET /storage/v1/b/bkt1/o"), QString());
    QVERIFY(!stand.refusal(Stand::pod(), "DELETE /storage/v1/b/bkt1/o/weights").isEmpty());
    stand.bindProject("roles/editor", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), "DELETE /storage/v1/b/bkt1/o/weights"), QString());
}

void TestWorkloadIdentity::monitoringTakesItsRole()
{
    Stand stand;
    const std::string query = "GET /v1/projects/my-project/location/global/prometheus/api/v1/query?query=up";
    QCOMPARE(stand.refusal(Stand::pod(), query, "monitoring"),
             QString("Permission monitoring.timeSeries.list denied (or the resource may not exist)."));
    stand.bindProject("roles/monitoring.viewer", kPrincipal);
    QCOMPARE(stand.refusal(Stand::pod(), query, "monitoring"), QString());
    QCOMPARE(stand.refusal(Stand::pod(),
                           "GET /v1/projects/123456789012/location/global/prometheus/api/v1/metadata",
                           "monitoring"),
             QString());
    QVERIFY(!stand
                 .refusal(Stand::pod(), "GET /v1/projects/other/location/global/prometheus/api/v1/query",
                          "monitoring")
                 .isEmpty());
}

void TestWorkloadIdentity::nodesHaveTheirOwnAccount()
{
    Stand stand;
    PodIdentity node = Stand::pod(kGsa);
    node.workloadPool.clear(); // the annotation counts for nothing there
    const std::string account = "123456789012-compute@developer.gserviceaccount.com";
    QCOMPARE(stand.identity.email(node).value_or(""), account);
    QVERIFY(stand.refusal(node, "GET /storage/v1/b/bkt1/o")
                .startsWith(QString::fromStdString(account + " does not")));
    stand.bindBucket("roles/storage.objectViewer", "serviceAccount:" + account);
    QCOMPARE(stand.refusal(node, "GET /storage/v1/b/bkt1/o"), QString());
    QCOMPARE(stand.identity.email(Stand::pod()).value_or(""), std::string("my-project.svc.id.goog"));
    QCOMPARE(stand.identity.email(Stand::pod(kGsa)).value_or(""), kGsa);
}

void TestWorkloadIdentity::tokensEnd()
{
    Stand stand;
    const auto token = stand.identity.accessToken(Stand::pod());
    QVERIFY(token);
    QVERIFY(stand.tokens.find(token->text, stand.buckets.stand.context().now()));
    QVERIFY(!stand.tokens.find(token->text + "x", stand.buckets.stand.context().now()));
    stand.buckets.stand.pass(token->lifetime);
    QVERIFY(!stand.tokens.find(token->text, stand.buckets.stand.context().now()));
}

void TestWorkloadIdentity::identityTokens()
{
    Stand stand;
    QVERIFY(stand.identity.identityToken(Stand::pod(), "aud").error().code == ErrorCode::FailedPrecondition);
    stand.bindUser(kFederated);
    const auto token = stand.identity.identityToken(Stand::pod(kGsa), "https://audience");
    QVERIFY2(token, token ? "" : token.error().message.c_str());
    const auto parts = QString::fromStdString(*token).split('.');
    QCOMPARE(parts.size(), 3);
    const json claims = json::parse(
        QByteArray::fromBase64(parts[1].toLatin1(), QByteArray::Base64UrlEncoding).toStdString());
    SAME(claims.at("email"), kGsa);
    SAME(claims.at("aud"), "https://audience");
    QCOMPARE(QByteArray::fromBase64(parts[2].toLatin1(), QByteArray::Base64UrlEncoding).size(), 256);
}

void TestWorkloadIdentity::mountsAskTheSame()
{
    Stand stand;
    QVERIFY(stand.identity.mayList(Stand::pod(kGsa), "bkt1").error().code == ErrorCode::Unauthenticated);
    QVERIFY(stand.identity.mayList(Stand::pod(), "bkt1").error().code == ErrorCode::PermissionDenied);
    QVERIFY(stand.identity.mayList(Stand::pod(), "nothere").error().code == ErrorCode::NotFound);
    stand.bindBucket("roles/storage.objectViewer", kPrincipal);
    QVERIFY(stand.identity.mayList(Stand::pod(), "bkt1"));
    QVERIFY(grants("roles/storage.objectViewer", "storage.objects.list"));
    QVERIFY(!grants("roles/storage.objectViewer", "storage.objects.listx"));
    QVERIFY(!grants("projects/my-project/roles/mine", "storage.objects.list"));
}

QTEST_GUILESS_MAIN(TestWorkloadIdentity)
#include "tst_workload_identity.moc"
