#include "cluster/local/gcp/google_error.h"
#include "cluster/local/gcp/partial_response.h"
#include "tests/local/services/service_stand.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

const json kList{{"kind", "storage#objects"},
                 {"nextPageToken", "t"},
                 {"items",
                  json::array({{{"name", "a"}, {"size", "1"}, {"owner", {{"entity", "e"}, {"id", "i"}}}},
                               {{"name", "b"}, {"size", "2"}}})}};

json part(const std::string &mask, const json &value = kList)
{
    const auto selected = selectFields(value, mask);
    return selected ? *selected : json("refused");
}

} // namespace

class TestPartialResponse : public QObject
{
    Q_OBJECT

private slots:
    void membersAreChosen();
    void listsAreChosenElementByElement();
    void starsAreAnyMember();
    void whatIsNotThereIsLeftOut();
    void wrongMasksAreRefused_data();
    void wrongMasksAreRefused();
    void errorsAreWhole();
    void answersAreCut();
};

void TestPartialResponse::membersAreChosen()
{
    SAME(part("kind"), json({{"kind", "storage#objects"}}));
    SAME(part("kind,nextPageToken"), json({{"kind", "storage#objects"}, {"nextPageToken", "t"}}));
    SAME(part("a/b,a/c,d.e", {{"a", {{"b", 1}, {"c", 2}, {"x", 3}}}, {"d", {{"e", 4}, {"f", 5}}}}),
         json({{"a", {{"b", 1}, {"c", 2}}}, {"d", {{"e", 4}}}}));
    SAME(part("a/b,a", {{"a", {{"b", 1}, {"c", 2}}}}), json({{"a", {{"b", 1}, {"c", 2}}}}));
}

void TestPartialResponse::listsAreChosenElementByElement()
{
    const json names{{"items", json::array({{{"name", "a"}}, {{"name", "b"}}})}};
    SAME(part("items/name"), names);
    SAME(part("items(name)"), names);
    SAME(part("items(name,owner/entity),kind"),
         json({{"kind", "storage#objects"},
               {"items", json::array({{{"name", "a"}, {"owner", {{"entity", "e"}}}}, {{"name", "b"}}})}}));
}

void TestPartialResponse::starsAreAnyMember()
{
    SAME(part("*"), kList);
    SAME(part("*/x", {{"a", {{"x", 1}, {"y", 2}}}, {"b", {{"x", 3}}}, {"c", 4}}),
         json({{"a", {{"x", 1}}}, {"b", {{"x", 3}}}}));
}

void TestPartialResponse::whatIsNotThereIsLeftOut()
{
    SAME(part("nothing"), json::object());
    SAME(part("kind/deeper"), json::object());
}

void TestPartialResponse::wrongMasksAreRefused_data()
{
    QTest::addColumn<QString>("mask");
    for (const char *mask :
         {"a(", "a)", "a(b", "a(b))", ",a", "a,", "a//b", "/a", "a b", "()", "a()", "a(b)c"})
        QTest::newRow(mask) << mask;
    QTest::newRow("deep") << QString("a(").repeated(1000) + "a" + QString(")").repeated(1000);
    QTest::newRow("deep path") << QString("a/").repeated(2000) + "a";
    QTest::newRow("long") << QString("abc,").repeated(5000) + "a";
}

void TestPartialResponse::wrongMasksAreRefused()
{
    QFETCH(QString, mask);
    SAME(part(mask.toStdString()), "refused");
}

void TestPartialResponse::errorsAreWhole()
{
    ServerRequest request;
    request.query = {{"fields", "kind"}};
    const ServerResponse error = errorResponse({ErrorCode::NotFound, "none"});
    SAME(partialResponse(request, error).body, error.body);
}

void TestPartialResponse::answersAreCut()
{
    ServerRequest request;
    request.query = {{"fields", "items/name"}};
    SAME(json::parse(partialResponse(request, jsonResponse(kList)).body), part("items/name"));
    request.query = {{"fields", "items("}};
    const ServerResponse refused = partialResponse(request, jsonResponse(kList));
    QCOMPARE(refused.status, 400);
    const json error = json::parse(refused.body)["error"];
    SAME(error["message"], "Invalid field selection items(");
    SAME(error["errors"][0]["reason"], "invalidParameter");
}

QTEST_APPLESS_MAIN(TestPartialResponse)
#include "tst_partial_response.moc"
