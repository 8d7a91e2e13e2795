#include "cluster/local/gcp/iam_service.h"
#include "cluster/local/gcp/resourcemanager_service.h"
#include "cluster/local/gcp/serviceusage_service.h"
#include "tests/local/services/service_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::ServiceStand;

namespace {

json binding(const std::string &role, const std::string &member)
{
    return {{"role", role}, {"members", json::array({member})}};
}

json policyOf(const json &bindings, const std::string &etag = {}, int version = 3)
{
    json policy{{"bindings", bindings}, {"version", version}};
    if (!etag.empty())
        policy["etag"] = etag;
    return {{"policy", policy}};
}

const char *const kSet = "POST /v1/projects/my-project:setIamPolicy";
const char *const kGet = "POST /v1/projects/my-project:getIamPolicy";

} // namespace

class TestProjectServices : public QObject
{
    Q_OBJECT

private slots:
    void enablingTakesItsTime();
    void whatIsEnabledAlreadyIsDoneAtOnce();
    void unknownApisAreRefused();
    void apisAreListedInPages();
    void disabledApisAreNamedToOthers();
    void projectsWithoutBillingCannotEnable();
    void failedOperationsChangeNothing();
    void aProjectIsMadeAndFoundByIdAndNumber();
    void projectIdsFollowTheRules();
    void strangersSeeNoProjects();
    void deletedProjectsComeBack();
    void stalePoliciesAreRefused();
    void etagsAreCanonicalBase64();
    void conditionsNeedVersionThree();
    void membersMustExist();
    void accountsAreMadeListedAndDeleted();
    void accountNamesFollowTheRules();
    void deletedAccountsLeaveTheirBindingsMarked();
    void stateOutlivesTheProcess();
};

void TestProjectServices::enablingTakesItsTime()
{
    ServiceStand stand;
    ResourceManagerService projects(stand.context());
    stand.call(projects, "POST /v1/projects", {{"projectId", "fresh-one"}});
    ServiceUsageService usage(stand.context());
    const std::string api = "/v1/projects/fresh-one/services/container.googleapis.com";
    SAME(stand.call(usage, "GET " + api).body["state"], "DISABLED");
    const Answer begun = stand.call(usage, "POST " + api + ":enable");
    SAME(begun.status, 200);
    QVERIFY(!begun.body.contains("done"));
    const std::string name = begun.body["name"];
    QVERIFY(name.starts_with("operations/acat.p2-"));
    SAME(stand.call(usage, "GET " + api).body["state"], "DISABLED");
    stand.pass(1s);
    const Answer done = stand.call(usage, "GET /v1/" + name);
    SAME(done.body["done"], true);
    SAME(done.body["response"]["service"]["state"], "ENABLED");
    SAME(stand.call(usage, "GET " + api).body["state"], "ENABLED");
    // What it needs came along.
    SAME(stand.call(usage, "GET /v1/projects/fresh-one/services/compute.googleapis.com").body["state"],
         "ENABLED");
}

void TestProjectServices::whatIsEnabledAlreadyIsDoneAtOnce()
{
    ServiceStand stand;
    ServiceUsageService usage(stand.context());
    const Answer answer
        = stand.call(usage, "POST /v1/projects/my-project/services:batchEnable",
                     {{"serviceIds", {"container.googleapis.com", "storage.googleapis.com"}}});
    SAME(answer.body["name"], "operations/noop.DONE_OPERATION");
    SAME(answer.body["done"], true);
    SAME(answer.body["response"]["services"].size(), std::size_t{2});
}

void TestProjectServices::unknownApisAreRefused()
{
    ServiceStand stand;
    ServiceUsageService usage(stand.context());
    const Answer answer
        = stand.call(usage, "POST /v1/projects/my-project/services/nothing.googleapis.com:enable");
    SAME(answer.status, 403);
    SAME(answer.message(), "Not found or permission denied for service(s): nothing.googleapis.com.");
    SAME(stand.call(usage, "GET /v1/projects/strange/services").status, 403);
}

void TestProjectServices::apisAreListedInPages()
{
    ServiceStand stand;
    ServiceUsageService usage(stand.context());
    const std::string list = "GET /v1/projects/my-project/services?filter=state:ENABLED&pageSize=7";
    std::size_t count = 0;
    std::string token;
    std::string last;
    do {
        const Answer page = stand.call(usage, list + (token.empty() ? "" : "&pageToken=" + token));
        for (const json &service : page.body["services"]) {
            const std::string name = service["config"]["name"];
            QVERIFY(name > last);
            last = name;
            ++count;
        }
        token = urlEncoded(page.body.value("nextPageToken", std::string()));
    } while (!token.empty());
    SAME(count, knownApis().size());
    SAME(stand.call(usage, "GET /v1/projects/my-project/services?pageToken=!").status, 400);
}

void TestProjectServices::disabledApisAreNamedToOthers()
{
    ServiceStand stand;
    ResourceManagerService projects(stand.context());
    stand.call(projects, "POST /v1/projects", {{"projectId", "fresh-one"}});
    const auto project = Projects(stand.context()).require("fresh-one");
    QVERIFY(project.has_value());
    const auto refused = EnabledApis(stand.context()).require(*project, "container.googleapis.com");
    QVERIFY(!refused);
    QVERIFY(refused.error().message.starts_with(
        "Kubernetes Engine API has not been used in project fresh-one before or it is disabled. Enable it by "
        "visiting https://console.developers.google.com/apis/api/container.googleapis.com/overview?project="
        "fresh-one then retry."));
    SAME(refused.error().details[0]["reason"], "SERVICE_DISABLED");
}

void TestProjectServices::projectsWithoutBillingCannotEnable()
{
    ServiceStand stand;
    ResourceManagerService projects(stand.context());
    stand.call(projects, "POST /v1/projects",
               {{"projectId", "poor-one"}, {"labels", {{"slipway-billing", "disabled"}}}});
    ServiceUsageService usage(stand.context());
    const Answer answer
        = stand.call(usage, "POST /v1/projects/poor-one/services/container.googleapis.com:enable");
    SAME(answer.status, 400);
    SAME(answer.body["error"]["status"], "FAILED_PRECONDITION");
    QVERIFY(answer.message().find("Billing must be enabled for activation of service(s) "
                                  "'container.googleapis.com' to proceed.")
            != std::string::npos);
}

void TestProjectServices::failedOperationsChangeNothing()
{
    ServiceStand stand;
    ResourceManagerService projects(stand.context());
    stand.call(projects, "POST /v1/projects", {{"projectId", "fresh-one"}});
    Fault fault;
    fault.kind = FaultKind::FailedOperation;
    fault.service = "serviceusage";
    fault.message = "failed precondition";
    fault.times = 1;
    QVERIFY(stand.context().faults.add(fault).has_value());
    ServiceUsageService usage(stand.context());
    const std::string api = "/v1/projects/fresh-one/services/container.googleapis.com";
    const std::string name = stand.call(usage, "POST " + api + ":enable").body["name"];
    stand.pass(1s);
    SAME(stand.call(usage, "GET /v1/" + name).body["error"]["message"], "failed precondition");
    SAME(stand.call(usage, "GET " + api).body["state"], "DISABLED");
}

void TestProjectServices::aProjectIsMadeAndFoundByIdAndNumber()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    const Answer begun
        = stand.call(service, "POST /v1/projects", {{"projectId", "proj-xyz-1"}, {"name", "four"}});
    const std::string operation = begun.body["name"];
    QVERIFY(operation.starts_with("operations/cp."));
    stand.pass(1s);
    SAME(stand.call(service, "GET /v1/" + operation).body["response"]["projectId"], "proj-xyz-1");
    const Answer byId = stand.call(service, "GET /v1/projects/proj-xyz-1");
    const std::string number = byId.body["projectNumber"];
    SAME(stand.call(service, "GET /v1/projects/" + number).body, byId.body);
    SAME(stand.call(service, "POST /v1/projects", {{"projectId", "proj-xyz-1"}}).status, 409);
    const Answer listed = stand.call(service, "GET /v1/projects?filter=lifecycleState:ACTIVE&pageSize=500");
    SAME(listed.body["projects"].size(), std::size_t{2});
}

void TestProjectServices::projectIdsFollowTheRules()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    for (const char *id : {"", "short", "1-begins-so", "Has-Capitals", "ends-so-", "dots.in.it", "a/b-c-d"})
        SAME(stand.call(service, "POST /v1/projects", {{"projectId", id}}).status, 400);
}

void TestProjectServices::strangersSeeNoProjects()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    const Answer answer = stand.call(service, "GET /v1/projects/not-there");
    SAME(answer.status, 403);
    SAME(answer.message(), "The caller does not have permission");
}

void TestProjectServices::deletedProjectsComeBack()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    SAME(stand.call(service, "DELETE /v1/projects/my-project").status, 200);
    SAME(stand.call(service, "GET /v1/projects/my-project").body["lifecycleState"], "DELETE_REQUESTED");
    ServiceUsageService usage(stand.context());
    SAME(stand.call(usage, "GET /v1/projects/my-project/services").status, 403);
    SAME(stand.call(service, "POST /v1/projects/my-project:undelete").status, 200);
    SAME(stand.call(usage, "GET /v1/projects/my-project/services").status, 200);
}

void TestProjectServices::stalePoliciesAreRefused()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    const json one = json::array({binding("roles/viewer", "user:a@example.com")});
    const std::string none = stand.call(service, kGet).body["etag"];
    SAME(stand.call(service, kSet, policyOf(one, none)).status, 200);
    const Answer stale = stand.call(service, kSet, policyOf(one, none));
    SAME(stale.status, 409);
    SAME(stale.body["error"]["status"], "ABORTED");
    SAME(stale.message(),
         "There were concurrent policy changes. Please retry the whole read-modify-write with exponential "
         "backoff.");
    const std::string now = stand.call(service, kGet).body["etag"];
    SAME(stand.call(service, kSet, policyOf(json::array(), now)).status, 200);
    QVERIFY(!stand.call(service, kGet).body.contains("bindings"));
    SAME(stand.call(service, kSet, policyOf(one, "no etag")).status, 409);
}

void TestProjectServices::etagsAreCanonicalBase64()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    for (int i = 0; i < 3; ++i) {
        const std::string etag = stand.call(service, kGet).body["etag"];
        const QByteArray bytes = QByteArray::fromStdString(etag);
        QCOMPARE(QByteArray::fromBase64(bytes, QByteArray::AbortOnBase64DecodingErrors).toBase64(), bytes);
        stand.call(service, kSet, policyOf(json::array(), etag));
    }
}

void TestProjectServices::conditionsNeedVersionThree()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    json conditional = binding("roles/viewer", "user:b@example.com");
    conditional["condition"] = {{"title", "t"}, {"expression", "true"}};
    const json bindings = json::array({conditional});
    SAME(stand.call(service, kSet, policyOf(bindings, {}, 1)).status, 400);
    SAME(stand.call(service, kSet, policyOf(bindings)).status, 200);
    const Answer plain = stand.call(service, kGet);
    QVERIFY(!plain.body["bindings"][0].contains("condition"));
    QVERIFY(plain.body["bindings"][0]["role"].get<std::string>().starts_with("roles/viewer_withcond_"));
    const Answer whole = stand.call(service, kGet, {{"options", {{"requestedPolicyVersion", 3}}}});
    SAME(whole.body["version"], 3);
    SAME(whole.body["bindings"][0]["condition"]["expression"], "true");
}

void TestProjectServices::membersMustExist()
{
    ServiceStand stand;
    ResourceManagerService service(stand.context());
    const auto set = [&](const std::string &member) {
        return stand.call(service, kSet, policyOf(json::array({binding("roles/viewer", member)})));
    };
    SAME(set("serviceAccount:nobody@my-project.iam.gserviceaccount.com").message(),
         "Service account nobody@my-project.iam.gserviceaccount.com does not exist.");
    SAME(set("nobody").message(),
         "The member nobody is of an unknown type. Please set a valid type prefix for the member.");
    SAME(set("user:noaddress").status, 400);
    QVERIFY(set("serviceAccount:other.svc.id.goog[default/ksa]")
                .message()
                .starts_with("Identity Pool does not exist (other.svc.id.goog)."));
    SAME(set("serviceAccount:my-project.svc.id.goog[default/ksa]").status, 200);
    SAME(set("allUsers").status, 200);
    SAME(set("serviceAccount:service-1@container-engine-robot.iam.gserviceaccount.com").status, 200);
    const std::string principal
        = "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
          "my-project.svc.id.goog/subject/ns/default/sa/my-ksa";
    SAME(set(principal).body["bindings"][0]["members"][0], principal);
    const json badRole = json::array({binding("viewer", "allUsers")});
    QVERIFY(stand.call(service, kSet, policyOf(badRole)).message().starts_with("The role name must be in"));
}

void TestProjectServices::accountsAreMadeListedAndDeleted()
{
    ServiceStand stand;
    IamService service(stand.context());
    const json body{{"accountId", "gsa-one"}, {"serviceAccount", {{"displayName", "x"}}}};
    const Answer made = stand.call(service, "POST /v1/projects/my-project/serviceAccounts", body);
    const std::string email = "gsa-one@my-project.iam.gserviceaccount.com";
    SAME(made.body["email"], email);
    SAME(made.body["displayName"], "x");
    const Answer again = stand.call(service, "POST /v1/projects/my-project/serviceAccounts", body);
    SAME(again.status, 409);
    SAME(again.message(), "Service account gsa-one already exists within project projects/my-project.");
    const std::string uniqueId = made.body["uniqueId"];
    SAME(stand.call(service, "GET /v1/projects/-/serviceAccounts/" + uniqueId).body, made.body);
    SAME(stand.call(service, "GET /v1/projects/my-project/serviceAccounts").body["accounts"].size(),
         std::size_t{1});
    SAME(stand.call(service, "DELETE /v1/projects/-/serviceAccounts/" + email).status, 200);
    const Answer gone
        = stand.call(service, "POST /v1/projects/my-project/serviceAccounts/" + email + ":getIamPolicy");
    SAME(gone.status, 404);
    SAME(gone.message(), "Unknown service account");
}

void TestProjectServices::accountNamesFollowTheRules()
{
    ServiceStand stand;
    IamService service(stand.context());
    for (const char *id : {"", "five5", "Capital-one", "1digit-first", "ends-with-", "has_underscore",
                           "more-than-thirty-characters-in-it"})
        SAME(stand.call(service, "POST /v1/projects/my-project/serviceAccounts", {{"accountId", id}}).status,
             400);
}

void TestProjectServices::deletedAccountsLeaveTheirBindingsMarked()
{
    ServiceStand stand;
    IamService iam(stand.context());
    ResourceManagerService projects(stand.context());
    const std::string email = "gsa-one@my-project.iam.gserviceaccount.com";
    const std::string uniqueId
        = stand.call(iam, "POST /v1/projects/my-project/serviceAccounts", {{"accountId", "gsa-one"}})
              .body["uniqueId"];
    SAME(
        stand
            .call(projects, kSet, policyOf(json::array({binding("roles/viewer", "serviceAccount:" + email)})))
            .status,
        200);
    stand.call(iam, "DELETE /v1/projects/-/serviceAccounts/" + email);
    SAME(stand.call(projects, kGet).body["bindings"][0]["members"][0],
         "deleted:serviceAccount:" + email + "?uid=" + uniqueId);
    const Answer back
        = stand.call(iam, "POST /v1/projects/my-project/serviceAccounts/" + uniqueId + ":undelete");
    SAME(back.body["restoredAccount"]["email"], email);
    SAME(stand.call(projects, kGet).body["bindings"][0]["members"][0], "serviceAccount:" + email);
}

void TestProjectServices::stateOutlivesTheProcess()
{
    ServiceStand stand;
    {
        IamService iam(stand.context());
        stand.call(iam, "POST /v1/projects/my-project/serviceAccounts", {{"accountId", "gsa-one"}});
    }
    stand.restart();
    IamService iam(stand.context());
    SAME(stand.call(iam, "GET /v1/projects/my-project/serviceAccounts").body["accounts"].size(),
         std::size_t{1});
}

QTEST_APPLESS_MAIN(TestProjectServices)
#include "tst_project_services.moc"
