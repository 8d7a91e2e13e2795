#include "cluster/local/gcp/artifactregistry_service.h"
#include "cluster/local/gcp/cloudquotas_service.h"
#include "cluster/local/gcp/compute_service.h"
#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/google_services.h"
#include "cluster/local/gcp/resourcemanager_service.h"
#include "tests/local/services/service_stand.h"

#include <QTest>
#include <algorithm>
#include <optional>

using namespace cluster;
using namespace cluster::local;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::Answer;
using tests::ServiceStand;

namespace {

const std::string kRepositories = "/v1/projects/my-project/locations/us-central1/repositories";
const std::string kCompute = "/compute/v1/projects/my-project";
const std::string kQuotas
    = "/v1/projects/my-project/locations/global/services/compute.googleapis.com/quotaInfos";
const std::string kV6e = "TPUS-PER-TPU-FAMILY-per-project-region";

bool has(const json &list, const std::string &field, const std::string &value)
{
    return std::any_of(list.begin(), list.end(),
                       [&](const json &item) { return item.value(field, std::string()) == value; });
}

} // namespace

class TestOfferServices : public QObject
{
    Q_OBJECT

private slots:
    void repositoriesAreMadeByAnOperation();
    void repositoryNamesFollowTheRules();
    void servicesMustBeEnabled_data();
    void servicesMustBeEnabled();
    void regionsShowTheirQuotas();
    void zonesBelongToRegions();
    void acceleratorsAreWhereTheyAre();
    void machinesHaveTheirAccelerators();
    void workloadPoliciesAreMade();
    void quotaInfosHaveTheirDimensions();
    void preferencesSetLimits();
    void poolsAreCheckedAgainstQuota();
    void theCatalogueIsWhole();
};

void TestOfferServices::repositoriesAreMadeByAnOperation()
{
    ServiceStand stand;
    ArtifactRegistryService service(stand.context());
    const json body{{"format", "DOCKER"}, {"mode", "MODE_UNSPECIFIED"}, {"description", "x"}};
    const Answer begun = stand.call(service, "POST " + kRepositories + "?repositoryId=repo1", body);
    const std::string operation = begun.body["name"];
    QVERIFY(operation.starts_with("projects/my-project/locations/us-central1/operations/"));
    SAME(stand.call(service, "GET " + kRepositories + "/repo1").status, 404);
    stand.pass(1s);
    const Answer done = stand.call(service, "GET /v1/" + operation);
    SAME(done.body["response"]["mode"], "STANDARD_REPOSITORY");
    const Answer made = stand.call(service, "GET " + kRepositories + "/repo1");
    SAME(made.body["name"], "projects/my-project/locations/us-central1/repositories/repo1");
    SAME(stand.call(service, "POST " + kRepositories + "?repositoryId=repo1", body).message(),
         "the repository already exists");
    SAME(stand.call(service, "GET /v1/projects/my-project/locations/-/repositories")
             .body["repositories"]
             .size(),
         1);
    SAME(stand.call(service, "GET " + kRepositories + "/repo1:getIamPolicy").body["etag"], "ACAB");
    SAME(stand.call(service, "DELETE " + kRepositories + "/repo1").status, 200);
    SAME(stand.call(service, "GET " + kRepositories + "/repo1").status, 404);
}

void TestOfferServices::repositoryNamesFollowTheRules()
{
    ServiceStand stand;
    ArtifactRegistryService service(stand.context());
    const json body{{"format", "DOCKER"}};
    for (const std::string name : {"", "1repo", "Repo", "repo_1", "repo-", "a.b"})
        SAME(stand.call(service, "POST " + kRepositories + "?repositoryId=" + name, body).status, 400);
    SAME(stand.call(service, "POST " + kRepositories + "?repositoryId=r", {{"format", "TAR"}}).status, 400);
    SAME(stand.call(service, "GET /v1/projects/my-project/locations/mars/repositories").status, 400);
}

void TestOfferServices::servicesMustBeEnabled_data()
{
    QTest::addColumn<QString>("prefix");
    QTest::addColumn<QString>("api");
    QTest::addColumn<QString>("line");
    const auto row = [](const char *prefix, const char *api, const char *line) {
        QTest::newRow(prefix) << prefix << api << line;
    };
    row("artifactregistry", "artifactregistry.googleapis.com",
        "GET /v1/projects/fresh-one/locations/us/repositories");
    row("compute", "compute.googleapis.com", "GET /compute/v1/projects/fresh-one/regions");
    row("cloudquotas", "cloudquotas.googleapis.com",
        "GET /v1/projects/fresh-one/locations/global/quotaPreferences");
    row("iam", "iam.googleapis.com", "GET /v1/projects/fresh-one/serviceAccounts");
    row("monitoring", "monitoring.googleapis.com",
        "GET /v1/projects/fresh-one/location/global/prometheus/api/v1/labels");
    row("storage", "storage.googleapis.com", "GET /storage/v1/b?project=fresh-one");
}

void TestOfferServices::servicesMustBeEnabled()
{
    QFETCH(QString, prefix);
    QFETCH(QString, api);
    QFETCH(QString, line);
    ServiceStand stand;
    ResourceManagerService projects(stand.context());
    stand.call(projects, "POST /v1/projects", {{"projectId", "fresh-one"}});
    const auto project = Projects(stand.context()).require("fresh-one");
    QVERIFY(project);
    EnabledApis apis(stand.context());
    QVERIFY(apis.set(*project, api.toStdString(), false, 0));
    auto services = makeGoogleServices(stand.context());
    const auto mounted = std::find_if(services.begin(), services.end(), [&](const MountedService &one) {
        return one.prefix == prefix.toStdString();
    });
    QVERIFY(mounted != services.end());
    const Answer refused = stand.call(*mounted->service, line.toStdString());
    QCOMPARE(refused.status, 403);
    QVERIFY2(refused.message().find("has not been used in project fresh-one before or it is disabled")
                 != std::string::npos,
             refused.message().c_str());
    const json &details = refused.body["error"]["details"];
    SAME(details[0]["reason"], "SERVICE_DISABLED");
    SAME(details[0]["metadata"]["service"], api.toStdString());
    SAME(details[1]["message"], refused.message());
    SAME(details[2]["links"][0]["url"], details[0]["metadata"]["activationUrl"]);
    if (refused.body["error"].contains("errors"))
        SAME(refused.body["error"]["errors"][0]["reason"], "accessNotConfigured");
    QVERIFY(apis.set(*project, api.toStdString(), true, 0));
    QVERIFY(stand.call(*mounted->service, line.toStdString()).status != 403);
}

void TestOfferServices::regionsShowTheirQuotas()
{
    ServiceStand stand;
    stand.usage = 8;
    ComputeService service(stand.context(), stand.quotas());
    const Answer region = stand.call(service, "GET " + kCompute + "/regions/us-central1");
    for (const json &quota : region.body["quotas"]) {
        if (quota["metric"] == "CPUS")
            SAME(quota, json({{"metric", "CPUS"}, {"limit", 2400.0}, {"usage", 8.0}}));
    }
    QVERIFY(has(region.body["quotas"], "metric", "NVIDIA_L4_GPUS"));
    QVERIFY(has(region.body["quotas"], "metric", "TPU_LITE_PODSLICE_V5"));
    // Who reads only this sees no v6e, as at Google.
    QVERIFY(!has(region.body["quotas"], "metric", "TPUS_PER_TPU_FAMILY"));
    const Answer none = stand.call(service, "GET " + kCompute + "/regions/mars-north1");
    SAME(none.status, 404);
    SAME(none.message(), "The resource 'projects/my-project/regions/mars-north1' was not found");
    SAME(stand.call(service, "GET " + kCompute + "/regions?maxResults=500").body["items"].size(),
         ComputeCatalog::builtIn().regions().size());
}

void TestOfferServices::zonesBelongToRegions()
{
    ServiceStand stand;
    ComputeService service(stand.context(), stand.quotas());
    const Answer zones = stand.call(service, "GET " + kCompute + "/zones?maxResults=500");
    QVERIFY(zones.body["items"].size() > 100);
    for (const json &zone : zones.body["items"]) {
        const std::string name = zone["name"];
        const std::string region = zone["region"];
        SAME(region.substr(region.rfind('/') + 1), regionOfZone(name));
        QVERIFY(zone["selfLink"].get<std::string>().ends_with("/zones/" + name));
    }
    const Answer page = stand.call(service, "GET " + kCompute + "/zones?maxResults=3");
    SAME(page.body["items"].size(), 3);
    QVERIFY(page.body.contains("nextPageToken"));
}

void TestOfferServices::acceleratorsAreWhereTheyAre()
{
    ServiceStand stand;
    ComputeService service(stand.context(), stand.quotas());
    const json items
        = stand.call(service, "GET " + kCompute + "/aggregated/acceleratorTypes?includeAllScopes=True")
              .body["items"];
    QVERIFY(has(items["zones/us-east5-b"]["acceleratorTypes"], "name", "ct6e"));
    QVERIFY(!has(items["zones/us-central1-a"]["acceleratorTypes"], "name", "ct6e"));
    QVERIFY(has(items["zones/us-central1-a"]["acceleratorTypes"], "description", "NVIDIA H100 80GB"));
}

void TestOfferServices::machinesHaveTheirAccelerators()
{
    ServiceStand stand;
    ComputeService service(stand.context(), stand.quotas());
    const Answer machine
        = stand.call(service, "GET " + kCompute + "/zones/us-east5-b/machineTypes/ct6e-standard-4t");
    SAME(machine.body["guestCpus"], 180);
    SAME(machine.body["accelerators"][0]["guestAcceleratorCount"], 4);
    SAME(stand.call(service, "GET " + kCompute + "/zones/us-west4-b/machineTypes/ct6e-standard-4t").status,
         404);
    SAME(stand.call(service, "GET " + kCompute + "/zones/us-west4-b/machineTypes/e2-standard-4")
             .body["memoryMb"],
         16384);
}

void TestOfferServices::workloadPoliciesAreMade()
{
    ServiceStand stand;
    ComputeService service(stand.context(), stand.quotas());
    const std::string policies = kCompute + "/regions/us-central1/resourcePolicies";
    const json body{{"name", "wp1"}, {"workloadPolicy", {{"type", "HIGH_THROUGHPUT"}}}};
    const Answer begun = stand.call(service, "POST " + policies, body);
    SAME(begun.body["status"], "DONE");
    const std::string wait
        = kCompute + "/regions/us-central1/operations/" + begun.body["name"].get<std::string>();
    SAME(stand.call(service, "POST " + wait + "/wait").body["status"], "DONE");
    SAME(stand.call(service, "GET " + policies + "/wp1").body["workloadPolicy"]["type"], "HIGH_THROUGHPUT");
    SAME(stand.call(service, "POST " + policies, body).status, 409);
    SAME(stand.call(service, "DELETE " + policies + "/wp1").status, 200);
    SAME(stand.call(service, "GET " + policies + "/wp1").status, 404);
}

void TestOfferServices::quotaInfosHaveTheirDimensions()
{
    ServiceStand stand;
    CloudQuotasService service(stand.context(), stand.quotas());
    const Answer info = stand.call(service, "GET " + kQuotas + "/" + kV6e);
    SAME(info.body["dimensions"], json::array({"region", "tpu_family"}));
    const json wanted{{"region", "us-east5"}, {"tpu_family", "CT6E"}};
    const json &infos = info.body["dimensionsInfos"];
    const auto row = std::find_if(infos.begin(), infos.end(),
                                  [&](const json &one) { return one["dimensions"] == wanted; });
    QVERIFY(row != infos.end());
    SAME((*row)["details"]["value"], "1024");
    const Answer all = stand.call(service, "GET " + kQuotas);
    QVERIFY(has(all.body["quotaInfos"], "quotaId", "PREEMPTIBLE-TPU-V6E-per-project-region"));
    QVERIFY(has(all.body["quotaInfos"], "quotaId", "GPUS-ALL-REGIONS-per-project"));
    SAME(stand.call(service, "GET " + kQuotas + "/NOTHING").status, 404);
}

void TestOfferServices::preferencesSetLimits()
{
    ServiceStand stand;
    const QuotaKey key{{kV6e, "TPUS_PER_TPU_FAMILY", "CT6E"}, "us-east5"};
    const std::string line
        = "POST /v1/projects/my-project/locations/global/quotaPreferences?quotaPreferenceId=more";
    json body{{"service", "compute.googleapis.com"},
              {"quotaId", kV6e},
              {"dimensions", {{"region", "us-east5"}, {"tpu_family", "CT6E"}}},
              {"quotaConfig", {{"preferredValue", "2048"}}}};
    {
        CloudQuotasService service(stand.context(), stand.quotas());
        SAME(stand.call(service, line, body).body["quotaConfig"]["grantedValue"], "2048");
    }
    stand.restart();
    CloudQuotasService service(stand.context(), stand.quotas());
    SAME(stand.quotas().limit("my-project", key), 2048);
    body["quotaConfig"]["preferredValue"] = "4";
    const Answer less = stand.call(service, line, body);
    SAME(less.status, 400);
    QVERIFY(less.message().find("decreases effective quota unsafely") != std::string::npos);
    const std::string anyhow = line + "&ignoreSafetyChecks=QUOTA_DECREASE_BELOW_USAGE";
    SAME(stand.call(service, anyhow, body).status, 200);
    SAME(stand.quotas().limit("my-project", key), 4);
    body["dimensions"]["tpu_family"] = "CT9";
    SAME(stand.call(service, anyhow, body).status, 400);
    for (const char *number : {"-1", "99999999999999999999", "ten", ""}) {
        body["quotaConfig"]["preferredValue"] = number;
        SAME(stand.call(service, anyhow, body).status, 400);
    }
    body["quotaConfig"]["preferredValue"] = "99999999999999999999";
    SAME(stand.call(service, anyhow, body).message(),
         "Invalid value at 'quota_preference.quota_config.preferred_value' (TYPE_INT64), "
         "\"99999999999999999999\"");
}

void TestOfferServices::poolsAreCheckedAgainstQuota()
{
    ServiceStand stand;
    Quotas &quotas = stand.quotas();
    const QuotaKey key{{kV6e, "TPUS_PER_TPU_FAMILY", "CT6E"}, "us-east5"};
    QVERIFY(quotas.setLimit("my-project", key, 8).has_value());
    QVERIFY(quotas.check("my-project", "ct6e-standard-4t", "us-east5-b", false, 2).has_value());
    const Status refused = quotas.check("my-project", "ct6e-standard-4t", "us-east5-b", false, 4);
    QVERIFY(!refused);
    QVERIFY(refused.error().message.starts_with(
        "Insufficient regional quota to satisfy request: resource \"TPUS_PER_TPU_FAMILY\": request requires "
        "'16.0' and is short '8.0'. project has a quota of '8.0' with '8.0' available."));
    // Spot draws on another quota, and so does another region.
    QVERIFY(quotas.check("my-project", "ct6e-standard-4t", "us-east5-b", true, 4).has_value());
    QVERIFY(quotas.check("my-project", "ct6e-standard-4t", "us-east1-d", false, 4).has_value());
    stand.usage = 8;
    QVERIFY(!quotas.check("my-project", "ct6e-standard-4t", "us-east5-b", false, 1));
    QVERIFY(!quotas.setLimit("my-project", key, -1));
    // v5e counts by zone too.
    stand.usage = 0;
    const QuotaKey zonal{
        {"TPU-LITE-PODSLICE-V5-per-project-zone", "TPU_LITE_PODSLICE_V5", {}}, {}, "us-west4-a"};
    QVERIFY(quotas.setLimit("my-project", zonal, 4).has_value());
    const Status full = quotas.check("my-project", "ct5lp-hightpu-4t", "us-west4-a", false, 2);
    QVERIFY(!full);
    QVERIFY(full.error().message.starts_with(
        "Insufficient zonal quota to satisfy request: resource \"TPU_LITE_PODSLICE_V5\": request requires "
        "'8.0' and is short '4.0'."));
    QVERIFY(quotas.check("my-project", "ct5lp-hightpu-4t", "us-west1-c", false, 2).has_value());
    // All that is short, in one answer.
    const Status both = quotas.check("my-project", "e2-standard-32", "us-central1-a", false, 2000);
    QVERIFY(!both);
    QVERIFY(both.error().message.starts_with("\n\t(1) insufficient regional quota to satisfy request: "
                                             "resource \"CPUS\": request requires '64000.0'"));
    QVERIFY(both.error().message.find("\n\t(2) insufficient project quota to satisfy request: resource "
                                      "\"CPUS_ALL_REGIONS\"")
            != std::string::npos);
    QVERIFY(both.error().message.ends_with("project=my-project."));
    // A fault on order is another limit.
    QVERIFY(!quotas.check("my-project", "e2-standard-4", "us-central1-a", false, 1,
                          [](const QuotaKey &) { return std::optional<std::int64_t>(3); }));
}

void TestOfferServices::theCatalogueIsWhole()
{
    const ComputeCatalog &catalog = ComputeCatalog::builtIn();
    for (const Accelerator &accelerator : catalog.accelerators()) {
        QVERIFY2(!accelerator.zones.empty() && !accelerator.machines.empty(), accelerator.name.c_str());
        for (const MachineType &machine : accelerator.machines) {
            QVERIFY2(machine.vcpu > 0 && machine.memoryGb > 0 && machine.acceleratorCount > 0,
                     machine.name.c_str());
            SAME(catalog.machine(machine.name)->accelerator, accelerator.name);
        }
    }
    SAME(catalog.machine("n2-custom-4-8192")->memoryGb, 8.0);
    QVERIFY(!catalog.machine("n2-custom-4"));
    QVERIFY(!catalog.machine("nothing"));
    SAME(regionOfZone("us-central1-ai1a"), "us-central1");
    SAME(regionOfZone("us-central1"), "us-central1");
    QVERIFY(!ComputeCatalog::parse("regions: ["));
    QVERIFY(
        !ComputeCatalog::parse("regions: {}\naccelerators: [{name: x, title: x, kind: gpu, quota: {id: a, "
                               "metric: b}, zones: [here-a], machines: []}]"));
}

QTEST_APPLESS_MAIN(TestOfferServices)
#include "tst_offer_services.moc"
