#include "cluster/local/gcp/container_messages.h"

#include <QTest>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

using namespace cluster::local;
using nlohmann::json;

namespace {

/// What the front end makes of a body; for a refusal its message.
json readAs(const MessageShape &shape, const QByteArray &body, const char *package = "google.container.v1")
{
    const auto read = readMessage(json::parse(body.toStdString()), shape, package);
    return read ? *read : json(read.error().message);
}

struct Named
{
    const char *name;
    const MessageShape *shape;
};

const Named kRequests[] = {{"create cluster", &kCreateClusterRequest},
                           {"update cluster", &kUpdateClusterRequest},
                           {"addons", &kSetAddonsRequest},
                           {"labels", &kSetLabelsRequest},
                           {"locations", &kSetLocationsRequest},
                           {"master", &kUpdateMasterRequest},
                           {"create pool", &kCreateNodePoolRequest},
                           {"update pool", &kUpdateNodePoolRequest},
                           {"size", &kSetSizeRequest},
                           {"autoscaling", &kSetAutoscalingRequest},
                           {"management", &kSetManagementRequest}};

/// A value of each type that JSON has.
const json kValues[] = {7, 7.5, true, "words", json::array({7}), json::array({json::array()}), {{"a", 7}}};

bool isOfKind(const json &value, FieldShape::Kind kind)
{
    switch (kind) {
    case FieldShape::Kind::Flag:
        return value.is_boolean();
    case FieldShape::Kind::Int32:
        return value.is_number_integer();
    case FieldShape::Kind::Enum:
        return value.is_string() || value.is_number_integer();
    case FieldShape::Kind::Message:
    case FieldShape::Kind::TextMap:
        return value.is_object();
    default:
        return value.is_string();
    }
}

/// Puts each value in each field, alone and below the fields that lead there. What is not refused has to be
/// of the declared type.
int tryFields(const MessageShape &request, const MessageShape &message,
              const std::function<json(json)> &within)
{
    int tried = 0;
    for (const FieldShape &field : message.fields) {
        for (const json &value : kValues) {
            json holder = json::object();
            holder[field.name] = value;
            const auto read = readMessage(within(holder), request, "google.container.v1");
            ++tried;
            if (!read)
                continue;
            json inner = *read;
            json path = within(json::object()); // walks down the same way
            while (path.is_object() && !path.empty()) {
                inner = inner.front().is_array() ? inner.front().front() : inner.front();
                path = path.front().is_array() ? path.front().front() : path.front();
            }
            const json &kept = inner.at(field.name);
            const bool isWell = field.isList ? kept.is_array()
                    && std::all_of(kept.begin(), kept.end(),
                                   [&](const json &one) { return isOfKind(one, field.kind); })
                                             : isOfKind(kept, field.kind);
            if (!isWell)
                qFatal("%s took %s as %s", field.name, value.dump().c_str(), kept.dump().c_str());
        }
        if (field.message) {
            tried += tryFields(request, *field.message, [&](json below) {
                json holder = json::object();
                holder[field.name] = field.isList ? json::array({std::move(below)}) : std::move(below);
                return within(std::move(holder));
            });
        }
    }
    return tried;
}

} // namespace

class TestMessageShape : public QObject
{
    Q_OBJECT

private slots:
    void refusalsAreInTheFrontEndsWords_data();
    void refusalsAreInTheFrontEndsWords();
    void refusalsHaveDetails();
    void whatIsTakenHasOneForm_data();
    void whatIsTakenHasOneForm();
    void noFieldTakesAnotherType_data();
    void noFieldTakesAnotherType();
};

void TestMessageShape::refusalsAreInTheFrontEndsWords_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("words");
    const auto row = [](const char *name, const char *body, const char *words) {
        QTest::newRow(name) << QByteArray(body) << QByteArray(words);
    };
    row("a number for messages", R"({"cluster":{"nodePools":7}})",
        "Invalid value at 'cluster.node_pools' (type.googleapis.com/google.container.v1.NodePool), 7");
    row("a text among messages", R"({"cluster":{"nodePools":[{},"x"]}})",
        "Invalid value at 'cluster.node_pools[1]' (type.googleapis.com/google.container.v1.NodePool), \"x\"");
    row("a text for a number", R"({"cluster":{"nodePools":[{"initialNodeCount":"many"}]}})",
        "Invalid value at 'cluster.node_pools[0].initial_node_count' (TYPE_INT32), \"many\"");
    row("half a node", R"({"cluster":{"initialNodeCount":1.5}})",
        "Invalid value at 'cluster.initial_node_count' (TYPE_INT32), 1.5");
    row("more than 32 bits", R"({"cluster":{"initialNodeCount":2147483648}})",
        "Invalid value at 'cluster.initial_node_count' (TYPE_INT32), 2147483648");
    row("a number for a text", R"({"cluster":{"name":7}})",
        "Invalid value at 'cluster.name' (TYPE_STRING), 7");
    row("an object for a text", R"({"cluster":{"name":{}}})",
        "Invalid value at 'cluster.name' (TYPE_STRING), Starting an object on a scalar field");
    row("a list for a text", R"({"cluster":{"name":["c"]}})",
        "Invalid JSON payload received. Unknown name \"name\" at 'cluster': Proto field is not repeating, "
        "cannot start list.");
    row("a list for the message", R"({"cluster":[{}]})",
        "Invalid JSON payload received. Unknown name \"cluster\": Proto field is not repeating, cannot start "
        "list.");
    row("a text for a flag", R"({"cluster":{"autopilot":{"enabled":"yes"}}})",
        "Invalid value at 'cluster.autopilot.enabled' (TYPE_BOOL), \"yes\"");
    row("an unknown value", R"({"cluster":{"releaseChannel":{"channel":"WEEKLY"}}})",
        "Invalid value at 'cluster.release_channel.channel' "
        "(type.googleapis.com/google.container.v1.ReleaseChannel.Channel), \"WEEKLY\"");
    row("a number for a map", R"({"cluster":{"resourceLabels":7}})",
        "Invalid value at 'cluster.resource_labels' "
        "(type.googleapis.com/google.container.v1.Cluster.ResourceLabelsEntry), 7");
    row("a list for a map", R"({"cluster":{"resourceLabels":[]}})",
        "Invalid JSON payload received. Unknown name \"resourceLabels\" at 'cluster': Cannot bind a list to "
        "map "
        "for field 'resourceLabels'.");
    row("a number in a map", R"({"cluster":{"resourceLabels":{"a":7}}})",
        "Invalid value at 'cluster.resource_labels[0].value' (TYPE_STRING), 7");
    row("two at once", R"({"cluster":{"name":7,"network":8}})",
        "Invalid value at 'cluster.name' (TYPE_STRING), 7\nInvalid value at 'cluster.network' (TYPE_STRING), "
        "8");
    row("no message at all", "[1]",
        "Invalid JSON payload received. Unknown name \"\": Root element must be a message.");
}

void TestMessageShape::refusalsAreInTheFrontEndsWords()
{
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, words);
    const json said = readAs(kCreateClusterRequest, body);
    QVERIFY2(said == words.toStdString(), said.dump().c_str());
}

void TestMessageShape::refusalsHaveDetails()
{
    const auto read = readMessage(json::parse(R"({"nodePool":{"config":{"spot":1}}})"),
                                  kCreateNodePoolRequest, "google.container.v1beta1");
    QVERIFY(!read);
    QCOMPARE(read.error().code, cluster::ErrorCode::InvalidArgument);
    const json &details = read.error().details;
    QCOMPARE(details[0]["@type"].get<std::string>(),
             std::string("type.googleapis.com/google.rpc.BadRequest"));
    const json &violation = details[0]["fieldViolations"][0];
    QCOMPARE(violation["field"].get<std::string>(), std::string("node_pool.config.spot"));
    QCOMPARE(violation["description"].get<std::string>(), read.error().message);
    const json pools
        = readAs(kCreateClusterRequest, R"({"cluster":{"nodePools":7}})", "google.container.v1beta1");
    QVERIFY(pools.get<std::string>().find("google.container.v1beta1.NodePool") != std::string::npos);
}

void TestMessageShape::whatIsTakenHasOneForm_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("read");
    const auto row = [](const char *name, const char *body, const char *read) {
        QTest::newRow(name) << QByteArray(body) << QByteArray(read);
    };
    row("null is absent", R"({"nodePool":{"name":null,"config":null}})", R"({"nodePool":{}})");
    row("a lone element", R"({"nodePool":{"locations":"us-east5-b"}})",
        R"({"nodePool":{"locations":["us-east5-b"]}})");
    row("digits", R"({"nodePool":{"initialNodeCount":"4","maxPodsConstraint":{"maxPodsPerNode":15}}})",
        R"({"nodePool":{"initialNodeCount":4,"maxPodsConstraint":{"maxPodsPerNode":"15"}}})");
    row("a whole fraction", R"({"nodePool":{"initialNodeCount":4.0}})",
        R"({"nodePool":{"initialNodeCount":4}})");
    row("a flag as a text", R"({"nodePool":{"config":{"spot":"true"}}})",
        R"({"nodePool":{"config":{"spot":true}}})");
    row("unknown fields stay", R"({"nodePool":{"future":{"x":[1]}}})",
        R"({"nodePool":{"future":{"x":[1]}}})");
}

void TestMessageShape::whatIsTakenHasOneForm()
{
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, read);
    const json taken = readAs(kCreateNodePoolRequest, body);
    QVERIFY2(taken == json::parse(read.toStdString()), taken.dump().c_str());
}

void TestMessageShape::noFieldTakesAnotherType_data()
{
    QTest::addColumn<int>("request");
    for (int i = 0; i < static_cast<int>(std::size(kRequests)); ++i)
        QTest::newRow(kRequests[i].name) << i;
}

void TestMessageShape::noFieldTakesAnotherType()
{
    QFETCH(int, request);
    const MessageShape &shape = *kRequests[request].shape;
    QVERIFY(tryFields(shape, shape, [](json body) { return body; }) >= static_cast<int>(std::size(kValues)));
}

QTEST_GUILESS_MAIN(TestMessageShape)
#include "tst_message_shape.moc"
