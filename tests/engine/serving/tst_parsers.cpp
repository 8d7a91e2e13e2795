#include "engine/serving/python_text.h"
#include "engine/serving/reasoning_parser.h"
#include "engine/serving/tool_call_parser.h"
#include "engine/serving/tool_choice.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace engine;

namespace {

/// Feeds the text cut at `cut`, joins what comes out.
ReasoningParser::Piece split(const std::string &text, std::size_t first, std::size_t second, bool inside)
{
    ReasoningParser parser(inside);
    ReasoningParser::Piece all;
    const auto add = [&all](const ReasoningParser::Piece &piece) {
        all.reasoning += piece.reasoning;
        all.content += piece.content;
    };
    add(parser.feed(text.substr(0, first)));
    add(parser.feed(text.substr(first, second - first)));
    add(parser.feed(text.substr(second)));
    add(parser.finish());
    return all;
}

std::vector<ToolEvent> joined(const std::vector<std::vector<ToolEvent>> &batches)
{
    std::vector<ToolEvent> all;
    for (const auto &batch : batches) {
        for (const ToolEvent &event : batch) {
            const bool joins
                = event.kind == ToolEvent::Kind::Arguments || event.kind == ToolEvent::Kind::Content;
            if (joins && !all.empty() && all.back().kind == event.kind)
                all.back().text += event.text;
            else
                all.push_back(event);
        }
    }
    return all;
}

} // namespace

class ParsersTest : public QObject
{
    Q_OBJECT

private slots:
    void reasoningIsSplitAlikeHoweverTheTextIsCut_data();
    void reasoningIsSplitAlikeHoweverTheTextIsCut();
    void toolCallsAreFoundAlikeHoweverTheTextIsCut_data();
    void toolCallsAreFoundAlikeHoweverTheTextIsCut();
    void aCallThatIsNotWholeIsContent();
    void aForcedCallIsWrappedWithoutTouchingLiterals();
    void jsonErrorsAreNamedAsPythonNamesThem_data();
    void jsonErrorsAreNamedAsPythonNamesThem();
    void valuesArePrintedAsPythonPrintsThem_data();
    void valuesArePrintedAsPythonPrintsThem();
};

void ParsersTest::reasoningIsSplitAlikeHoweverTheTextIsCut_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("inside");
    QTest::addColumn<QString>("reasoning");
    QTest::addColumn<QString>("content");
    QTest::newRow("tag in the prompt") << "I think</think>Yes" << true << "I think"
                                       << "Yes";
    QTest::newRow("both tags") << "<think>I think</think>Yes" << true << "I think"
                               << "Yes";
    QTest::newRow("space before") << "\n <think>a</think>b" << false << "a"
                                  << "b";
    QTest::newRow("never closed") << "thoughts without end" << true << "thoughts without end"
                                  << "";
    QTest::newRow("no thoughts") << "Plain <b>text</b> </think>" << false << ""
                                 << "Plain <b>text</b> </think>";
    QTest::newRow("nearly a tag") << "a </thin b</think>c" << true << "a </thin b"
                                  << "c";
    QTest::newRow("a lone beginning") << "<thi" << false << ""
                                      << "<thi";
    QTest::newRow("empty") << "" << true << ""
                           << "";
    QTest::newRow("closing at once") << "</think>x" << true << ""
                                     << "x";
}

void ParsersTest::reasoningIsSplitAlikeHoweverTheTextIsCut()
{
    QFETCH(QString, text);
    QFETCH(bool, inside);
    QFETCH(QString, reasoning);
    QFETCH(QString, content);
    const std::string all = text.toStdString();
    for (std::size_t first = 0; first <= all.size(); ++first) {
        for (std::size_t second = first; second <= all.size(); ++second) {
            const auto piece = split(all, first, second, inside);
            QCOMPARE(QString::fromStdString(piece.reasoning), reasoning);
            QCOMPARE(QString::fromStdString(piece.content), content);
        }
    }
}

void ParsersTest::toolCallsAreFoundAlikeHoweverTheTextIsCut_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("array");
    QTest::addColumn<QStringList>("expected");
    QTest::newRow("one call")
        << "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"\"}}\n</tool_call>" << false
        << QStringList{"start f", "args {\"a\": \"}\\\"\"}", "end"};
    QTest::newRow("text before") << "Hi <tool <tool_call>{\"name\":\"f\",\"arguments\":[1, 2]}</tool_call>"
                                 << false << QStringList{"text Hi <tool ", "start f", "args [1, 2]", "end"};
    QTest::newRow("two calls")
        << "<tool_call>{\"name\":\"f\",\"arguments\":\"x\"}</tool_call>\n<tool_call>{\"name\":"
           "\"g\",\"arguments\":12}</tool_call>"
        << false << QStringList{"start f", "args \"x\"", "end", "start g", "args 12", "end"};
    QTest::newRow("arguments first") << "<tool_call>{\"arguments\": {}, \"name\": \"f\"}</tool_call>" << false
                                     << QStringList{"start f", "args {}", "end"};
    QTest::newRow("no arguments") << "<tool_call>{\"name\": \"f\"}</tool_call>" << false
                                  << QStringList{"start f", "args {}", "end"};
    QTest::newRow("only text") << "a <tool_calls> b" << false << QStringList{"text a <tool_calls> b"};
    QTest::newRow("array")
        << "[{\"name\": \"f\", \"parameters\": {\"a\": 1}}, {\"name\": \"g\", \"parameters\": {}}]" << true
        << QStringList{"start f", "args {\"a\": 1}", "end", "start g", "args {}", "end"};
}

void ParsersTest::toolCallsAreFoundAlikeHoweverTheTextIsCut()
{
    QFETCH(QString, text);
    QFETCH(bool, array);
    QFETCH(QStringList, expected);
    const std::string all = text.toStdString();
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        ToolCallStream stream(array ? ToolCallStream::Form::Array : ToolCallStream::Form::Hermes);
        std::vector<std::vector<ToolEvent>> batches;
        batches.push_back(stream.feed(all.substr(0, cut)));
        for (std::size_t i = cut; i < all.size(); ++i) // the rest one by one
            batches.push_back(stream.feed(all.substr(i, 1)));
        batches.push_back(stream.finish());
        QStringList found;
        for (const ToolEvent &event : joined(batches)) {
            const char *names[] = {"text ", "start ", "args ", "end"};
            found << QString(names[static_cast<int>(event.kind)]) + QString::fromStdString(event.text);
        }
        QCOMPARE(found, expected);
    }
}

void ParsersTest::aCallThatIsNotWholeIsContent()
{
    const std::string cut = "<tool_call>\n{\"name\": \"get_weather";
    const ParsedToolCalls parsed = parseHermesCalls(cut);
    QVERIFY(parsed.calls.empty());
    QCOMPARE(parsed.content, cut);
    const ParsedToolCalls whole
        = parseHermesCalls("<tool_call>\n{\"name\": \"f\", \"arguments\": \"x\"}\n</tool_");
    QCOMPARE(whole.calls.size(), std::size_t(1));
    QCOMPARE(whole.calls[0].arguments, std::string("\"x\""));
}

void ParsersTest::aForcedCallIsWrappedWithoutTouchingLiterals()
{
    const std::string grammar
        = "root ::= \"root\" [root] sub-root root-sub\nsub-root ::= \"\\\"root\"\nroot-sub ::= root";
    const std::string wrapped = wrapCallGrammar(grammar, false);
    QVERIFY(wrapped.find("tool-call-object ::= \"root\" [root] sub-root root-sub\n") != std::string::npos);
    QVERIFY(wrapped.find("root-sub ::= tool-call-object") != std::string::npos);
    QVERIFY(wrapped.find("sub-root ::= \"\\\"root\"") != std::string::npos);
    QVERIFY(wrapped.starts_with("root ::= tool-call-block\n"));
}

void ParsersTest::jsonErrorsAreNamedAsPythonNamesThem_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("position"); // -1: no error
    QTest::addColumn<QString>("message");
    const QString property = "Expecting property name enclosed in double quotes";
    QTest::newRow("cut after a comma") << "{\"model\": \"smollm2\", " << 21 << property;
    QTest::newRow("good") << "{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\"], \"b\": {}}" << -1 << "";
    QTest::newRow("no value") << "{\"a\": }" << 6 << "Expecting value";
    QTest::newRow("no colon") << "{\"a\" 1}" << 5 << "Expecting ':' delimiter";
    QTest::newRow("no comma") << "[1 2]" << 3 << "Expecting ',' delimiter";
    QTest::newRow("unterminated") << "{\"a\": \"b" << 6 << "Unterminated string starting at";
    QTest::newRow("rest") << "{} x" << 3 << "Extra data";
    QTest::newRow("control character") << "\"a\nb\"" << 2 << "Invalid control character at";
    QTest::newRow("characters, not bytes") << QString::fromUtf8("{\"é\": x}") << 6 << "Expecting value";
    QTest::newRow("deep") << QString(200, '[') << 128 << "Nested too deep";
}

void ParsersTest::jsonErrorsAreNamedAsPythonNamesThem()
{
    QFETCH(QString, text);
    QFETCH(int, position);
    QFETCH(QString, message);
    const auto error = findJsonError(text.toStdString());
    QCOMPARE(error.has_value(), position >= 0);
    if (error) {
        QCOMPARE(static_cast<int>(error->position), position);
        QCOMPARE(QString::fromStdString(error->message), message);
    }
}

void ParsersTest::valuesArePrintedAsPythonPrintsThem_data()
{
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("python");
    QTest::newRow("object") << R"({"a": [1, 2.5, null, true], "b": "c"})"
                            << "{'a': [1, 2.5, None, True], 'b': 'c'}";
    QTest::newRow("quote") << R"("it's")"
                           << "\"it's\"";
    QTest::newRow("both quotes") << R"("it's \"x\"")"
                                 << R"('it\'s "x"')";
    QTest::newRow("whole float") << "2.0"
                                 << "2.0";
    QTest::newRow("large float") << "1e16"
                                 << "1e+16";
    QTest::newRow("newline") << R"("a\nb")"
                             << R"('a\nb')";
}

void ParsersTest::valuesArePrintedAsPythonPrintsThem()
{
    QFETCH(QString, json);
    QFETCH(QString, python);
    QCOMPARE(QString::fromStdString(pythonRepr(nlohmann::ordered_json::parse(json.toStdString()))), python);
}

QTEST_APPLESS_MAIN(ParsersTest)
#include "tst_parsers.moc"
