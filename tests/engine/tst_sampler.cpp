#include "engine/runtime/logprobs.h"
#include "engine/runtime/sampler.h"
#include "tests/engine/fake_decoder.h"
#include <QtTest>
#include <cmath>

using engine::Sampler;
using engine::SamplerScratch;
using engine::TokenId;

namespace {

Sampler samplerWith(engine::SamplingParams params, Sampler::Input input = {})
{
    input.params = std::move(params);
    return Sampler(std::move(input));
}

/// How often each of the tokens comes up in `count` draws.
std::vector<int> draw(const engine::SamplingParams &params, const std::vector<float> &logits, int count)
{
    Sampler sampler = samplerWith(params);
    SamplerScratch scratch;
    std::vector<int> counts(logits.size(), 0);
    for (int i = 0; i < count; ++i)
        ++counts[static_cast<std::size_t>(sampler.sample(logits, scratch))];
    return counts;
}

class OnlyEven final : public engine::Grammar
{
public:
    bool allows(TokenId token) override { return token % 2 == 0; }
    void mask(std::span<float> logits) override
    {
        ++masks;
        for (std::size_t i = 1; i < logits.size(); i += 2)
            logits[i] = -INFINITY;
    }
    void accept(TokenId token) override { accepted.push_back(token); }
    int masks = 0;
    std::vector<TokenId> accepted;
};

} // namespace

class SamplerTest : public QObject
{
    Q_OBJECT

private slots:
    void greedyTakesTheFirstOfTheBest();
    void drawsFollowTheTemperature();
    void narrowingLeavesTheLikelyOnes_data();
    void narrowingLeavesTheLikelyOnes();
    void equalSeedsDrawAlike();
    void biasAndAllowedTokensDecide();
    void penaltiesPushAwayWhatHasBeenSaid();
    void badWordsAreNotCompleted();
    void theGrammarIsAskedFirstAndMasksOnlyOnRefusal();
    void brokenNumbersGiveNoToken();
    void logprobsAreOfTheRawModel();
};

void SamplerTest::greedyTakesTheFirstOfTheBest()
{
    std::vector<float> logits(1000, -1.0F);
    logits[517] = 3.0F;
    logits[903] = 3.0F;
    engine::SamplingParams params;
    params.temperature = 0;
    SamplerScratch scratch;
    QCOMPARE(samplerWith(params).sample(logits, scratch), 517);
}

void SamplerTest::drawsFollowTheTemperature()
{
    const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.2F)};
    engine::SamplingParams params;
    params.seed = 1;
    const std::vector<int> plain = draw(params, logits, 20000);
    QVERIFY(std::abs(plain[0] - 10000) < 400 && std::abs(plain[1] - 6000) < 400);
    params.temperature = 0.5; // squares: 25 : 9 : 4
    const std::vector<int> sharp = draw(params, logits, 20000);
    QVERIFY(std::abs(sharp[0] - 20000 * 25 / 38) < 400 && std::abs(sharp[2] - 20000 * 4 / 38) < 400);
}

void SamplerTest::narrowingLeavesTheLikelyOnes_data()
{
    QTest::addColumn<int>("topK");
    QTest::addColumn<double>("topP");
    QTest::addColumn<double>("minP");
    QTest::addColumn<int>("left");
    QTest::newRow("nothing") << 0 << 1.0 << 0.0 << 4;
    QTest::newRow("top_k") << 2 << 1.0 << 0.0 << 2;
    QTest::newRow("top_p") << 0 << 0.65 << 0.0 << 2;
    QTest::newRow("top_p keeps at least one") << 0 << 0.01 << 0.0 << 1;
    QTest::newRow("min_p") << 0 << 1.0 << 0.45 << 3;
    QTest::newRow("top_k before top_p") << 2 << 0.99 << 0.0 << 2;
    QTest::newRow("top_k beyond the vocabulary") << 90 << 1.0 << 0.0 << 4;
}

void SamplerTest::narrowingLeavesTheLikelyOnes()
{
    QFETCH(int, topK);
    QFETCH(double, topP);
    QFETCH(double, minP);
    QFETCH(int, left);
    const std::vector<float> logits{std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
    engine::SamplingParams params;
    params.topK = topK;
    params.topP = topP;
    params.minP = minP;
    const std::vector<int> counts = draw(params, logits, 3000);
    for (int i = 0; i < 4; ++i)
        QCOMPARE(counts[static_cast<std::size_t>(i)] > 0, i < left);
}

void SamplerTest::equalSeedsDrawAlike()
{
    std::vector<float> logits(500);
    for (std::size_t i = 0; i < logits.size(); ++i)
        logits[i] = std::sin(static_cast<float>(i));
    const auto sequence = [&](std::uint64_t seed) {
        Sampler::Input input;
        input.seed = seed;
        Sampler sampler(std::move(input));
        SamplerScratch scratch;
        std::vector<TokenId> tokens;
        for (int i = 0; i < 20; ++i)
            tokens.push_back(sampler.sample(logits, scratch));
        return tokens;
    };
    QCOMPARE(sequence(7), sequence(7));
    QVERIFY(sequence(7) != sequence(8));
}

void SamplerTest::biasAndAllowedTokensDecide()
{
    const std::vector<float> logits{1, 2, 3, 4, 5};
    engine::SamplingParams params;
    params.temperature = 0;
    SamplerScratch scratch;
    params.logitBias = {{4, -100.0F}, {1, 1.5F}};
    QCOMPARE(samplerWith(params).sample(logits, scratch), 3);
    params.allowedTokenIds = {0, 1, 2, 99};
    QCOMPARE(samplerWith(params).sample(logits, scratch), 1);
}

void SamplerTest::penaltiesPushAwayWhatHasBeenSaid()
{
    const std::vector<float> logits{5.0F, 4.9F, 4.8F, -1.0F};
    SamplerScratch scratch;
    engine::SamplingParams params;
    params.temperature = 0;
    params.presencePenalty = 1;
    Sampler present = samplerWith(params);
    QCOMPARE(present.sample(logits, scratch), 0);
    QCOMPARE(present.sample(logits, scratch), 1);
    QCOMPARE(present.sample(logits, scratch), 2);
    params.presencePenalty = 0;
    params.repetitionPenalty = 2;
    Sampler::Input input;
    input.prompt = {0}; // the prompt counts for this one
    Sampler repeating = samplerWith(params, std::move(input));
    QCOMPARE(repeating.sample(logits, scratch), 1);
    QCOMPARE(repeating.sample(logits, scratch), 2);
}

void SamplerTest::badWordsAreNotCompleted()
{
    const std::vector<float> logits{1, 2, 9, 3, 8};
    engine::SamplingParams params;
    params.temperature = 0;
    Sampler::Input input;
    input.badWords = {{2, 2}, {4}};
    Sampler sampler = samplerWith(params, std::move(input));
    SamplerScratch scratch;
    QCOMPARE(sampler.sample(logits, scratch), 2);
    QCOMPARE(sampler.sample(logits, scratch), 3);
    QCOMPARE(sampler.sample(logits, scratch), 2);
}

void SamplerTest::theGrammarIsAskedFirstAndMasksOnlyOnRefusal()
{
    engine::SamplingParams params;
    params.temperature = 0;
    auto grammar = std::make_unique<OnlyEven>();
    OnlyEven &seen = *grammar;
    Sampler::Input input;
    input.grammar = std::move(grammar);
    Sampler sampler = samplerWith(params, std::move(input));
    SamplerScratch scratch;
    QCOMPARE(sampler.sample(std::vector<float>{1, 2, 9, 3}, scratch), 2);
    QCOMPARE(seen.masks, 0);
    QCOMPARE(sampler.sample(std::vector<float>{1, 2, 3, 9}, scratch), 2);
    QCOMPARE(seen.masks, 1);
    QCOMPARE(seen.accepted, (std::vector<TokenId>{2, 2}));
}

void SamplerTest::brokenNumbersGiveNoToken()
{
    const std::vector<float> logits(40, NAN);
    SamplerScratch scratch;
    engine::SamplingParams params;
    QCOMPARE(samplerWith(params).sample(logits, scratch), -1);
    params.temperature = 0;
    QCOMPARE(samplerWith(params).sample(logits, scratch), -1);
}

void SamplerTest::logprobsAreOfTheRawModel()
{
    std::vector<float> logits(256, -INFINITY);
    logits['a'] = std::log(0.5F) + 7;
    logits['b'] = std::log(0.3F) + 7;
    logits['c'] = std::log(0.2F) + 7;
    const ByteVocabulary vocabulary;
    const engine::TokenOutput output = engine::describeToken('b', logits, 2, vocabulary);
    QVERIFY(std::abs(output.logprob->logprob - std::log(0.3F)) < 1e-5F);
    QCOMPARE(output.logprob->rank, 2);
    QCOMPARE(output.top.size(), std::size_t(2));
    QCOMPARE(output.top[0].token, TokenId('a'));
    QCOMPARE(output.top[1].piece, "b");
    QCOMPARE(engine::describeToken('x', logits, 0, vocabulary).logprob->logprob, -INFINITY);
}

QTEST_APPLESS_MAIN(SamplerTest)
#include "tst_sampler.moc"
