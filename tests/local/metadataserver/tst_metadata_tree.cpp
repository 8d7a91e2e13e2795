#include "cluster/httpd/request_target.h"
#include "cluster/local/metadataserver/metadata_tree.h"
#include "cluster/local/metadataserver/peer_user.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

MetadataFacts someFacts()
{
    MetadataFacts facts;
    facts.project = "my-project";
    facts.projectNumber = "123456789012";
    facts.zone = "us-east5-b";
    facts.hostName = "gke-c1-n1.us-east5-b.c.my-project.internal";
    facts.instanceId = "4242";
    facts.clusterName = "c1";
    facts.clusterLocation = "us-east5";
    facts.clusterUid = "abcdef";
    facts.email = "gsa@my-project.iam.gserviceaccount.com";
    facts.scopes = {"https://www.googleapis.com/auth/cloud-platform", "s2"};
    return facts;
}

ServerRequest requestFor(const std::string &target, bool hasFlavor = true)
{
    ServerRequest request;
    request.method = "GET";
    request.target = target;
    if (!readTarget(target, request))
        qFatal("not a target: %s", target.c_str());
    if (hasFlavor)
        request.headers.emplace_back("metadata-flavor", "Google");
    return request;
}

const std::string v1 = "/computeMetadata/v1/";

} // namespace

class TestMetadataTree : public QObject
{
    Q_OBJECT

private slots:
    void values_data();
    void values();
    void everyAnswerSaysWhoseItIs();
    void withoutTheHeaderNothingIsTold();
    void whatLibrariesAskOfAnAccount();
    void namesInJson();
    void listsHaveASlash();
    void tokensAreNotPages();
    void otherMethodsAndProxies();
    void theUserOfASocket();
};

void TestMetadataTree::values_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("body");
    const auto row = [](const char *path, int status, const char *body) {
        QTest::newRow(*path ? path : "root of v1") << path << status << body;
    };
    row("project/project-id", 200, "my-project");
    row("project/numeric-project-id", 200, "123456789012");
    row("instance/zone", 200, "projects/123456789012/zones/us-east5-b");
    row("instance/hostname", 200, "gke-c1-n1.us-east5-b.c.my-project.internal");
    row("instance/attributes/cluster-name", 200, "c1");
    row("instance/attributes/cluster-location", 200, "us-east5");
    row("instance/attributes/", 200, "cluster-location\ncluster-name\ncluster-uid\n");
    row("instance/service-accounts/", 200, "default/\ngsa@my-project.iam.gserviceaccount.com/\n");
    row("instance/service-accounts/default/email", 200, "gsa@my-project.iam.gserviceaccount.com");
    row("instance/service-accounts/gsa@my-project.iam.gserviceaccount.com/email", 200,
        "gsa@my-project.iam.gserviceaccount.com");
    row("instance/service-accounts/default/scopes", 200,
        "https://www.googleapis.com/auth/cloud-platform\ns2\n");
    row("instance/service-accounts/default/aliases", 200, "default\n");
    row("instance/service-accounts/default/", 200, "aliases\nemail\nidentity\nscopes\ntoken\n");
    row("instance/service-accounts/other/email", 404, "404 page not found\n");
    row("instance/attributes/kube-env", 404, "404 page not found\n");
    row("instance/zone/x", 404, "404 page not found\n");
    row("", 200, "instance/\nproject/\n");
}

void TestMetadataTree::values()
{
    QFETCH(QString, path);
    QFETCH(int, status);
    QFETCH(QString, body);
    const ServerRequest request = requestFor(v1 + path.toStdString());
    QVERIFY(metadataRequest(request));
    const ServerResponse page = metadataPage(request, someFacts());
    QCOMPARE(page.status, status);
    QCOMPARE(QString::fromStdString(page.body), body);
}

void TestMetadataTree::everyAnswerSaysWhoseItIs()
{
    for (const char *path : {"/", "/computeMetadata/", "/computeMetadata/v1/project/project-id", "/x"}) {
        const ServerResponse page = metadataPage(requestFor(path), someFacts());
        QVERIFY2(findHeader(page.headers, "Metadata-Flavor") == "Google", path);
    }
    QCOMPARE(metadataPage(requestFor("/"), someFacts()).body, std::string("computeMetadata/\n"));
}

void TestMetadataTree::withoutTheHeaderNothingIsTold()
{
    const auto refused = metadataRequest(requestFor(v1 + "instance/service-accounts/default/token", false));
    QVERIFY(!refused);
    QCOMPARE(refused.error().status, 403);
    QCOMPARE(refused.error().body, std::string("Missing required header \"Metadata-Flavor\": \"Google\"\n"));
    QVERIFY(metadataRequest(requestFor("/", false))); // whether there is such a server at all
}

void TestMetadataTree::whatLibrariesAskOfAnAccount()
{
    const ServerResponse page
        = metadataPage(requestFor(v1 + "instance/service-accounts/default/?recursive=true"), someFacts());
    const json wanted{{"aliases", {"default"}},
                      {"email", "gsa@my-project.iam.gserviceaccount.com"},
                      {"scopes", {"https://www.googleapis.com/auth/cloud-platform", "s2"}}};
    QVERIFY2(json::parse(page.body) == wanted, page.body.c_str());
    QVERIFY(findHeader(page.headers, "Content-Type") == "application/json");
}

void TestMetadataTree::namesInJson()
{
    const json all = json::parse(metadataPage(requestFor(v1 + "?recursive=true&alt=json"), someFacts()).body);
    QVERIFY(all.at("project").at("numericProjectId") == "123456789012");
    QVERIFY(all.at("instance").at("attributes").at("cluster-name") == "c1"); // named by people
    QVERIFY(all.at("instance").at("serviceAccounts").at("default").at("aliases").at(0) == "default");
}

void TestMetadataTree::listsHaveASlash()
{
    const ServerResponse page = metadataPage(requestFor(v1 + "instance/attributes"), someFacts());
    QCOMPARE(page.status, 301);
    QVERIFY(findHeader(page.headers, "Location") == v1 + "instance/attributes/");
}

void TestMetadataTree::tokensAreNotPages()
{
    const auto token = metadataRequest(requestFor(v1 + "instance/service-accounts/default/token?scopes=a,b"));
    QVERIFY(token && token->kind == MetadataRequest::Kind::AccessToken);
    const auto identity = metadataRequest(
        requestFor(v1 + "instance/service-accounts/default/identity?audience=https%3A%2F%2Fa"));
    QVERIFY(identity && identity->kind == MetadataRequest::Kind::IdentityToken);
    QCOMPARE(identity->audience, std::string("https://a"));
    const auto without = metadataRequest(requestFor(v1 + "instance/service-accounts/default/identity"));
    QVERIFY(!without && without.error().status == 400);
    QCOMPARE(metadataPage(requestFor(v1 + "instance/service-accounts/default/token/x"), someFacts()).status,
             404);
}

void TestMetadataTree::otherMethodsAndProxies()
{
    ServerRequest request = requestFor(v1 + "project/project-id");
    request.method = "POST";
    QCOMPARE(metadataRequest(request).error().status, 405);
    request.method = "GET";
    request.headers.emplace_back("X-Forwarded-For", "10.0.0.1");
    QCOMPARE(metadataRequest(request).error().status, 403);
}

void TestMetadataTree::theUserOfASocket()
{
    const std::string table
        = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
          "   0: 0A008C7F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 "
          "100\n"
          "   1: 0100007F:C350 0A008C7F:0050 01 00000000:00000000 02:00000000 00000000  1001        0 2 2 0 "
          "20\n";
    const ConnectionEnds client{0x7F000001, 0x7F8C000A, 50000, 80};
    QCOMPARE(userOfSocket(table, client).value_or(0), 1001U);
    QVERIFY(!userOfSocket(table, {0x7F000001, 0x7F8C000A, 50001, 80}));
    QVERIFY(!userOfSocket("", client));
    QVERIFY(!userOfSocket("0100007F:C350 0A008C7F:0050 01", client));
}

QTEST_GUILESS_MAIN(TestMetadataTree)
#include "tst_metadata_tree.moc"
