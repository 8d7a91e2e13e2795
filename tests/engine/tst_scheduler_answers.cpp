// What a request's answer is and where it ends.

#include "tests/engine/fake_decoder.h"
#include <QtTest>

using engine::FinishReason;

namespace {

/// A model that writes `text` after a prompt of `prompt` tokens, then ends.
FakeDecoder::Model writes(const std::string &text, std::size_t prompt)
{
    return [=](const std::vector<engine::TokenId> &history) {
        const std::size_t at = history.size() - prompt;
        return at < text.size() ? static_cast<unsigned char>(text[at]) : ByteVocabulary::end;
    };
}

} // namespace

class SchedulerAnswersTest : public QObject
{
    Q_OBJECT

private slots:
    void badPromptsAreRefused_data();
    void badPromptsAreRefused();
    void theAnswerEndsAtTheLimits_data();
    void theAnswerEndsAtTheLimits();
    void theAnswerEndsAtTheEndToken();
    void stopTokensEndTheAnswer();
    void stopStringsEndTheAnswer_data();
    void stopStringsEndTheAnswer();
    void noEndComesBeforeMinTokens();
    void promptLogprobsAreReadInChunks();
};
void SchedulerAnswersTest::badPromptsAreRefused_data()
{
    QTest::addColumn<int>("length");
    QTest::addColumn<int>("badToken");
    QTest::addColumn<QString>("part");
    QTest::newRow("empty") << 0 << -1 << "empty";
    QTest::newRow("as long as the context") << 100 << -1 << "100 tokens";
    QTest::newRow("negative token") << 5 << -7 << "vocabulary";
    QTest::newRow("token beyond the vocabulary") << 5 << 256 << "vocabulary";
}

void SchedulerAnswersTest::badPromptsAreRefused()
{
    QFETCH(int, length);
    QFETCH(int, badToken);
    QFETCH(QString, part);
    FakeEngine fake(100);
    engine::GenerateRequest request = FakeEngine::request(1, filler('x', length), 5);
    if (badToken != -1)
        request.prompt[2] = badToken;
    fake.submit(std::move(request));
    QVERIFY(fake.scheduler().isIdle());
    QCOMPARE(fake.failures[1].code, "invalid_argument");
    QVERIFY(QString::fromStdString(fake.failures[1].message).contains(part));
}

void SchedulerAnswersTest::theAnswerEndsAtTheLimits_data()
{
    QTest::addColumn<int>("maxTokens");
    QTest::addColumn<int>("maxModelLen");
    QTest::addColumn<int>("expected");
    QTest::newRow("max_tokens") << 7 << 100 << 7;
    QTest::newRow("context") << 50 << 20 << 10;
    QTest::newRow("one token") << 1 << 100 << 1;
}

void SchedulerAnswersTest::theAnswerEndsAtTheLimits()
{
    QFETCH(int, maxTokens);
    QFETCH(int, maxModelLen);
    QFETCH(int, expected);
    FakeEngine fake(128, {.maxModelLen = maxModelLen});
    fake.submit(FakeEngine::request(1, filler('x', 10), maxTokens));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.texts[1], FakeEngine::expected(filler('x', 10), expected));
    QCOMPARE(fake.finishes[1].reason, FinishReason::Length);
}

void SchedulerAnswersTest::theAnswerEndsAtTheEndToken()
{
    FakeEngine fake(128, {}, writes("gr\xC3\xBC\xC3\x9F dich", 2));
    fake.submit(FakeEngine::request(1, "ab", 50));
    engine::GenerateRequest ignoring = FakeEngine::request(2, "cd", 20);
    ignoring.sampling.ignoreEos = true;
    fake.submit(std::move(ignoring));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.texts[1], "gr\xC3\xBC\xC3\x9F dich");
    QCOMPARE(fake.finishes[1].reason, FinishReason::Stop);
    QVERIFY(!fake.finishes[1].stopToken && !fake.finishes[1].stopString);
    QCOMPARE(fake.finishes[2].reason, FinishReason::Length);
    QCOMPARE(fake.events[2].size(), std::size_t(20));
}

void SchedulerAnswersTest::stopTokensEndTheAnswer()
{
    for (const bool included : {false, true}) {
        FakeEngine fake(128, {}, writes("one;two", 2));
        engine::GenerateRequest request = FakeEngine::request(1, "ab", 50);
        request.sampling.stopTokenIds = {';'};
        request.sampling.includeStopInOutput = included;
        fake.submit(std::move(request));
        QVERIFY(fake.runAll());
        QCOMPARE(fake.texts[1], included ? "one;" : "one");
        QCOMPARE(fake.finishes[1].stopToken, std::optional<engine::TokenId>(';'));
    }
}

void SchedulerAnswersTest::stopStringsEndTheAnswer_data()
{
    QTest::addColumn<QString>("written");
    QTest::addColumn<QStringList>("stops");
    QTest::addColumn<bool>("included");
    QTest::addColumn<QString>("shown");
    QTest::addColumn<QString>("matched");
    QTest::newRow("in the middle") << "abc STOP def" << QStringList{"STOP"} << false << "abc "
                                   << "STOP";
    QTest::newRow("included") << "abc STOP def" << QStringList{"STOP"} << true << "abc STOP"
                              << "STOP";
    QTest::newRow("starts twice") << "abSTSTOPx" << QStringList{"STOP"} << false << "abST"
                                  << "STOP";
    QTest::newRow("only begun") << "abc STO" << QStringList{"STOP"} << false << "abc STO"
                                << "";
    QTest::newRow("earliest of two") << "a\nb##" << QStringList{"##", "\n"} << false << "a"
                                     << "\n";
    QTest::newRow("beyond ASCII") << "x\u00FC\u2028y" << QStringList{"\u2028"} << false << "x\u00FC"
                                  << "\u2028";
}

void SchedulerAnswersTest::stopStringsEndTheAnswer()
{
    QFETCH(QString, written);
    QFETCH(QStringList, stops);
    QFETCH(bool, included);
    QFETCH(QString, shown);
    QFETCH(QString, matched);
    FakeEngine fake(128, {}, writes(written.toStdString(), 2));
    engine::GenerateRequest request = FakeEngine::request(1, "ab", 50);
    for (const QString &stop : stops)
        request.sampling.stop.push_back(stop.toStdString());
    request.sampling.includeStopInOutput = included;
    fake.submit(std::move(request));
    QVERIFY(fake.runAll());
    QCOMPARE(QString::fromStdString(fake.texts[1]), shown);
    QCOMPARE(QString::fromStdString(fake.finishes[1].stopString.value_or("")), matched);
    QCOMPARE(fake.finishes[1].reason, FinishReason::Stop);
}

void SchedulerAnswersTest::noEndComesBeforeMinTokens()
{
    // The end token is far ahead of the rest at once; the others are equal, so that token 1 is next.
    FakeEngine fake(128, {}, [](const auto &) { return ByteVocabulary::end; });
    engine::GenerateRequest request = FakeEngine::request(1, "ab", 50);
    request.sampling.minTokens = 5;
    fake.submit(std::move(request));
    engine::GenerateRequest stopping = FakeEngine::request(2, "cd", 12);
    stopping.sampling.minTokens = 5;
    stopping.sampling.ignoreEos = true;
    stopping.sampling.skipSpecialTokens = false;
    stopping.sampling.stop = {"<mark><mark>"};
    fake.submit(std::move(stopping));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.events[1].size(), std::size_t(6));
    QCOMPARE(fake.finishes[2].reason, FinishReason::Length); // the stop came before min_tokens only
}

void SchedulerAnswersTest::promptLogprobsAreReadInChunks()
{
    FakeEngine fake(1024);
    const std::string prompt = filler('p', 300);
    fake.submit(FakeEngine::request(1, prompt, 2));
    QVERIFY(fake.runAll());
    engine::GenerateRequest request = FakeEngine::request(2, prompt, 2);
    request.sampling.promptLogprobs = 2;
    fake.submit(std::move(request));
    QVERIFY(fake.runAll());
    const auto &tokens = fake.events[2].front().promptTokens;
    QCOMPARE(tokens.size(), prompt.size());
    QVERIFY(!tokens[0].logprob);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        QVERIFY(tokens[i].logprob.has_value());
        QCOMPARE(tokens[i].top.size(), std::size_t(2));
        QCOMPARE(tokens[i].top[0].token,
                 FakeDecoder::scrambled(std::vector<engine::TokenId>(i, static_cast<engine::TokenId>('p'))));
    }
    QCOMPARE(fake.events[2].front().cachedPromptTokens, 0);
    QCOMPARE(fake.texts[2], FakeEngine::expected(prompt, 2));
    QVERIFY(fake.decoder.complaints.empty());
}

QTEST_APPLESS_MAIN(SchedulerAnswersTest)
#include "tst_scheduler_answers.moc"
