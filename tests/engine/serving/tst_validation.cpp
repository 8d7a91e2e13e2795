#include "engine/serving/chat_request.h"
#include "engine/serving/completion_request.h"
#include "fake_backend.h"

#include <QTest>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

using namespace engine;

namespace {

struct Case
{
    ServerOptions options;
    boost::asio::io_context io;
    FakeBackend backend{io};
    ServerMetrics metrics{{"fake", ApiDialect::Newest, 512, 4096, true}};

    explicit Case(bool old)
    {
        options.dialect = old ? ApiDialect::V085 : ApiDialect::Newest;
        options.servedModelNames = {"fake"};
    }

    std::string complaint(const QString &route, const QString &body)
    {
        const ServingContext context(options, backend, metrics);
        const auto json = nlohmann::ordered_json::parse(body.toStdString());
        if (route == "chat") {
            const auto request = readChatRequest(context, json);
            return request ? "" : request.error().message;
        }
        const auto request = readCompletionRequest(context, json);
        return request ? "" : request.error().message;
    }
};

} // namespace

class ValidationTest : public QObject
{
    Q_OBJECT

private slots:
    void wrongFieldsAreNamedInTheWordsOfTheDialect_data();
    void wrongFieldsAreNamedInTheWordsOfTheDialect();
    void maxTokensAreFittedToTheContext();
};

void ValidationTest::wrongFieldsAreNamedInTheWordsOfTheDialect_data()
{
    QTest::addColumn<QString>("route");
    QTest::addColumn<QString>("body");
    QTest::addColumn<QString>("newest"); // beginning of the message; empty: accepted
    QTest::addColumn<QString>("old");
    const QString prompt = R"({"prompt": "a", %1})";
    const QString chat = R"({"messages": [{"role": "user", "content": "a"}], %1})";
    const auto row = [&](const char *name, const QString &fields, const QString &newest, const QString &old) {
        QTest::newRow(name) << "completions" << prompt.arg(fields) << newest << old;
    };
    const auto chatRow
        = [&](const char *name, const QString &fields, const QString &newest, const QString &old) {
              QTest::newRow(name) << "chat" << chat.arg(fields) << newest << old;
          };
    row("good", R"("n": 1)", "", "");
    row("null is absent", R"("n": null, "stop": null, "seed": null)", "", "");
    row("numeric string", R"("max_tokens": "2")", "", "");
    row("whole float", R"("max_tokens": 2.0)", "", "");
    row("seed beyond int64", R"("seed": 99999999999999999999)",
        "1 validation error:\n  {'type': 'less_than_equal'", "[{'type': 'less_than_equal'");
    row("penalty", R"("frequency_penalty": -3)", "frequency_penalty must be in [-2, 2], got -3.0.",
        "frequency_penalty must be in [-2, 2], got -3.0.");
    row("top_k 0", R"("top_k": 0)", "", "top_k must be -1 (disable), or at least 1, got 0.");
    row("negative min_tokens", R"("min_tokens": -1)",
        "min_tokens must be greater than or equal to 0, got -1.",
        "min_tokens must be greater than or equal to 0, got -1.");
    row("five stops", R"("stop": ["a","b","c","d","e"])",
        "2 validation errors:\n  {'type': 'string_type', 'loc': 'body.stop'", "");
    row("no allowed tokens", R"("allowed_token_ids": [])", "allowed_token_ids is not None and empty!",
        "allowed_token_ids is not None and empty!");
    row("truncate 0", R"("truncate_prompt_tokens": 0)", "", "[{'type': 'greater_than_equal'");
    row("two kinds of guidance",
        R"("structured_outputs": {"regex": "a", "choice": ["b"]}, "guided_regex": "a", "guided_choice": ["b"])",
        "You can only use one kind", "[{'type': 'value_error'");
    row("greedy with n", R"("temperature": 0, "n": 2)", "n must be 1 when using greedy sampling, got 2.",
        "n must be 1 when using greedy sampling, got 2.");
    row("boolean", R"("echo": "perhaps")", "1 validation error:\n  {'type': 'bool_parsing'",
        "[{'type': 'bool_parsing'");
    chatRow("chat good", R"("top_logprobs": 0)", "", "");
    chatRow("required without a parser",
            R"("tools": [{"type":"function","function":{"name":"f"}}], "tool_choice": "required")",
            "tool_choice=\"required\" requires --tool-call-parser to be set", "");
    chatRow("auto without a parser", R"("tools": [{"type":"function","function":{"name":"f"}}])",
            "\"auto\" tool choice requires", "\"auto\" tool choice requires");
    chatRow("untrusted template", R"("chat_template": "x")", "Chat template is passed with request", "");
    chatRow("unknown format", R"("response_format": {"type": "xml"})",
            "1 validation error:\n  {'type': 'literal_error'", "[{'type': 'literal_error'");
    QTest::newRow("part of an unknown type")
        << "chat"
        << R"({"messages": [{"role": "user", "content": [{"type": "smell"}]}]})"
        << "Unknown part type: smell"
        << "Unknown part type: smell";
    QTest::newRow("message that is a string") << "chat"
                                              << R"({"messages": ["hi"]})"
                                              << "9 validation errors:\n  {'type': 'dict_type'"
                                              << "[{'type': 'dict_type'";
}

void ValidationTest::wrongFieldsAreNamedInTheWordsOfTheDialect()
{
    QFETCH(QString, route);
    QFETCH(QString, body);
    QFETCH(QString, newest);
    QFETCH(QString, old);
    for (const bool isOld : {false, true}) {
        const QString expected = isOld ? old : newest;
        const QString got = QString::fromStdString(Case(isOld).complaint(route, body));
        QVERIFY2(expected.isEmpty() ? got.isEmpty() : got.startsWith(expected), qPrintable(got));
    }
}

void ValidationTest::maxTokensAreFittedToTheContext()
{
    SamplingFields fields;
    fields.maxTokens = 510;
    const Dialect &newest = dialectOf(ApiDialect::Newest);
    const Dialect &old = dialectOf(ApiDialect::V085);
    QCOMPARE(fitMaxTokens(fields, 5, 512, 0, newest).value(), 507);
    QVERIFY(!fitMaxTokens(fields, 5, 512, 0, old));
    fields.maxTokens.reset();
    QCOMPARE(fitMaxTokens(fields, 5, 512, 0, old).value(), 507);
    QCOMPARE(fitMaxTokens(fields, 5, 512, 100, old).value(), 100);
    QVERIFY(!fitMaxTokens(fields, 512, 512, 0, newest));
    QVERIFY(!fitMaxTokens(fields, 512, 512, 0, old));
    fields.maxTokens = 0;
    QCOMPARE(fitMaxTokens(fields, 5, 512, 0, newest).value(), 1); // echo of the prompt only
}

QTEST_APPLESS_MAIN(ValidationTest)
#include "tst_validation.moc"
