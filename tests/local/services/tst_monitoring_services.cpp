#include "cluster/local/gcp/monitoring_service.h"
#include "tests/local/services/service_stand.h"

#include <QTest>
#include <optional>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;
using tests::Answer;
using tests::ServiceStand;

namespace {

const std::string kApi = "/v1/projects/my-project/location/global/prometheus/api/v1/";

/// Answers what it is told to, and remembers what it was asked.
class ToldStore : public MetricStore
{
public:
    Result<MetricAnswer> ask(const std::string &project, const MetricQuestion &question) override
    {
        lastProject = project;
        last = question;
        if (error)
            return tl::unexpected(*error);
        return answer;
    }

    MetricAnswer answer{200, "application/json", R"({"status":"success","data":[]})"};
    std::optional<Error> error;
    std::string lastProject;
    MetricQuestion last;
};

class Stand : public ServiceStand
{
public:
    Stand() : service(context()) { context().metrics = &store; }
    Answer ask(const std::string &what) { return call(service, "GET " + kApi + what); }

    ToldStore store;
    MonitoringService service;
};

} // namespace

class TestMonitoringServices : public QObject
{
    Q_OBJECT

private slots:
    void questionsArePassedOnAsTheyCame();
    void formsArePosted();
    void answersArePassedThrough();
    void theNumberNamesTheSameProject();
    void whatGoogleLacksIsNotFound();
    void withoutAPrometheusTheAnswerSaysWhatToInstall();
    void aPrometheusThatIsGoneIsUnavailable();
    void aDisabledApiIsRefused();
};

void TestMonitoringServices::questionsArePassedOnAsTheyCame()
{
    Stand stand;
    QCOMPARE(stand.ask("query?query=sum(rate(a%5B1m%5D))%2Bb&time=1").status, 200);
    SAME(stand.store.last.path, "query");
    SAME(stand.store.last.parameters, "query=sum(rate(a%5B1m%5D))%2Bb&time=1");
    SAME(stand.store.lastProject, "my-project");
    QCOMPARE(stand.ask("label/a%2Fb%20c/values").status, 200);
    SAME(stand.store.last.path, "label/a%2Fb%20c/values");
    for (const char *method : {"query_range?query=up&start=1&end=2&step=1", "series?match[]=up", "labels",
                               "metadata", "label/job/values"})
        QCOMPARE(stand.ask(method).status, 200);
}

void TestMonitoringServices::formsArePosted()
{
    Stand stand;
    const Answer posted = stand.call(stand.service, "POST " + kApi + "query", "query=up",
                                     {{"content-type", "application/x-www-form-urlencoded"}});
    QCOMPARE(posted.status, 200);
    SAME(stand.store.last.method, "POST");
    SAME(stand.store.last.contentType, "application/x-www-form-urlencoded");
    SAME(stand.store.last.body, "query=up");
}

void TestMonitoringServices::answersArePassedThrough()
{
    Stand stand;
    stand.store.answer
        = {400, "application/json", R"({"status":"error","errorType":"bad_data","error":"e"})"};
    const Answer answer = stand.ask("query?query=(");
    QCOMPARE(answer.status, 400);
    SAME(answer.body, json({{"status", "error"}, {"errorType", "bad_data"}, {"error", "e"}}));
}

void TestMonitoringServices::theNumberNamesTheSameProject()
{
    Stand stand;
    const std::string number = stand.context().projectNumber;
    QCOMPARE(
        stand.call(stand.service, "GET /v1/projects/" + number + "/location/global/prometheus/api/v1/labels")
            .status,
        200);
    SAME(stand.store.lastProject, "my-project");
    QCOMPARE(
        stand.call(stand.service, "GET /v1/projects/other/location/global/prometheus/api/v1/labels").status,
        403);
}

void TestMonitoringServices::whatGoogleLacksIsNotFound()
{
    Stand stand;
    for (const char *method :
         {"rules", "targets", "status/config", "admin/tsdb/snapshot", "label/x", "query/x"})
        QCOMPARE(stand.ask(method).status, 404);
    QCOMPARE(stand.call(stand.service, "DELETE " + kApi + "series").status, 404);
    SAME(stand.store.last.path, ""); // none of it was asked
}

void TestMonitoringServices::withoutAPrometheusTheAnswerSaysWhatToInstall()
{
    Stand stand;
    stand.store.error = Error{ErrorCode::FailedPrecondition, "install prometheus"};
    const Answer answer = stand.ask("query?query=up");
    QCOMPARE(answer.status, 400);
    SAME(answer.message(), "install prometheus");
    SAME(answer.body["error"]["status"], "FAILED_PRECONDITION");
}

void TestMonitoringServices::aPrometheusThatIsGoneIsUnavailable()
{
    Stand stand;
    stand.store.error = Error{ErrorCode::Unavailable, "nobody there"};
    QCOMPARE(stand.ask("query?query=up").status, 503);
}

void TestMonitoringServices::aDisabledApiIsRefused()
{
    Stand stand;
    const auto project = Projects(stand.context()).require("my-project");
    QVERIFY(project);
    QVERIFY(EnabledApis(stand.context()).set(*project, "monitoring.googleapis.com", false, 0));
    const Answer answer = stand.ask("query?query=up");
    QCOMPARE(answer.status, 403);
    SAME(answer.body["error"]["details"][0]["reason"], "SERVICE_DISABLED");
}

QTEST_GUILESS_MAIN(TestMonitoringServices)
#include "tst_monitoring_services.moc"
