// Grammars that would keep the decode thread busy for ever: refused, or ended when they get out of hand.
#include "engine/runtime/grammar_compiler.h"
#include "engine/runtime/language_model.h"
#include "engine/runtime/llama_grammar.h"

#include <QFile>
#include <QTest>

using namespace engine;

namespace {

const std::string model = SLIPWAY_MODELS_DIR "/SmolLM2-135M-Instruct.Q4_1.gguf";

std::string choices(int count)
{
    std::string grammar = "root ::= ";
    for (int i = 0; i < count; ++i)
        grammar += (i > 0 ? " | " : "") + ("\"value " + std::to_string(i) + "\"");
    return grammar;
}

/// x9 can begin in 10^9 ways that differ in what follows.
std::string steep()
{
    std::string grammar = "root ::= x9\nx0 ::= [a-z]\n";
    for (int level = 1; level < 10; ++level) {
        const std::string below = "x" + std::to_string(level - 1);
        grammar += "x" + std::to_string(level) + " ::= ";
        for (char c = 'a'; c < 'k'; ++c)
            grammar += (c > 'a' ? " | " : "") + below + " \"" + c + "\"";
        grammar += "\n";
    }
    return grammar;
}

} // namespace

class GrammarBoundsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void isRefusedOrTaken_data();
    void isRefusedOrTaken();
    void anOutputThatMultipliesItsReadingsEnds();

private:
    std::unique_ptr<LanguageModel> m_model;
};

void GrammarBoundsTest::initTestCase()
{
    if (!QFile::exists(QString::fromStdString(model)))
        QSKIP("the chat model is not in SLIPWAY_MODELS_DIR");
    RunnerOptions options;
    options.modelPath = model;
    auto loaded = LanguageModel::load(options, [](double) {});
    QVERIFY(loaded.has_value());
    m_model = std::move(*loaded);
}

void GrammarBoundsTest::isRefusedOrTaken_data()
{
    QTest::addColumn<QString>("grammar");
    QTest::addColumn<QString>("complaint");
    const auto row = [](const char *name, const std::string &grammar, const char *complaint) {
        QTest::newRow(name) << QString::fromStdString(grammar) << complaint;
    };
    row("plain", "root ::= \"yes\" | \"no\"", "");
    row("a long list of values", choices(1000), "");
    row("too long a list of values", choices(20'000), "too ambiguous");
    row("10^9 beginnings", steep(), "too ambiguous");
    row(
        "many optional parts",
        "root ::= " +
            [] {
                std::string parts;
                for (int i = 0; i < 500; ++i)
                    parts += "(\"" + std::to_string(i) + "\")? ";
                return parts + "\"end\"";
            }(),
        "");
    row("begins with itself", "root ::= root \"a\" | \"b\"", "begins with itself");
    row("no root", "other ::= \"a\"", "no rule named root");
    row("names tokens", "root ::= <[5]>", "names tokens");
    row("nested repetitions", R"(root ::= (((("a"{0,100}){0,100}){0,100}){0,100}){0,100})", "not valid");
}

void GrammarBoundsTest::isRefusedOrTaken()
{
    QFETCH(QString, grammar);
    QFETCH(QString, complaint);
    if (!m_model)
        QSKIP("no model");
    const auto parsed = parseGrammar(grammar.toStdString(), m_model->vocabulary());
    const QString said = parsed ? QString() : QString::fromStdString(parsed.error().message);
    QCOMPARE(parsed.has_value(), complaint.isEmpty());
    QVERIFY2(said.contains(complaint), qPrintable(said));
}

/// Each "a" doubles the ways to have read the text so far: 2^64 of them after 64.
void GrammarBoundsTest::anOutputThatMultipliesItsReadingsEnds()
{
    if (!m_model)
        QSKIP("no model");
    auto grammar
        = parseGrammar("root ::= s\ns ::= \"a\" s \"b\" | \"a\" s \"c\" | \"d\"", m_model->vocabulary());
    QVERIFY(grammar.has_value());
    const auto tokens = m_model->vocabulary().tokenize(std::string(64, 'a'), false, false);
    bool isEnded = false;
    for (const TokenId token : tokens) {
        isEnded = isEnded || !(*grammar)->allows(token);
        if (!isEnded)
            (*grammar)->accept(token);
    }
    QVERIFY(isEnded);
    std::vector<float> logits(static_cast<std::size_t>(m_model->facts().vocabularySize), 1.0F);
    (*grammar)->mask(logits);
    QVERIFY(std::ranges::all_of(logits, [](float logit) { return logit < 0; }));
}

QTEST_APPLESS_MAIN(GrammarBoundsTest)
#include "tst_grammar_bounds.moc"
