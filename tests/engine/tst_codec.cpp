#include "engine/protocol/codec.h"

#include <QTest>
#include <limits>
#include <random>

using namespace engine;

namespace {

std::string bodyOf(const cluster::Result<std::string> &frame)
{
    return frame ? frame->substr(frameHeaderBytes) : std::string();
}

template<typename T>
T throughFront(const T &message)
{
    auto decoded = decodeFrontMessage(bodyOf(encodeFrame(FrontMessage(message))));
    return decoded ? std::get<T>(*decoded) : T{};
}

template<typename T>
T throughRunner(const T &message)
{
    auto decoded = decodeRunnerMessage(bodyOf(encodeFrame(RunnerMessage(message))));
    return decoded ? std::get<T>(*decoded) : T{};
}

/// Every field differs from its default, so that one that is lost on the way is seen.
GenerateRequest fullRequest()
{
    GenerateRequest request;
    request.id = 0xFFFFFFFFFFFFFFFFULL;
    request.prompt = {1, 49151, 0, -1};
    request.priority = -7;
    request.cacheSalt = "salt";
    auto &s = request.sampling;
    s.maxTokens = 17;
    s.temperature = 0.25;
    s.topK = -1;
    s.seed = std::numeric_limits<std::int64_t>::min();
    s.stop = {"\n\n", "", "\xF0\x9F\x8C\x8D"};
    s.stopTokenIds = {5};
    s.includeStopInOutput = true;
    s.logitBias = {{3, -100.0F}, {4, 0.5F}};
    s.badWords = {"x"};
    s.logprobs = 3;
    s.skipSpecialTokens = false;
    s.grammar = "root ::= \"a\"";
    return request;
}

GenerationEvent fullEvent()
{
    GenerationEvent event;
    event.id = 9;
    event.text = "h\xC3\xA9";
    TokenOutput token;
    token.token = 12;
    token.piece = "\xC3"; // half of a character: a text that is not UTF-8 must pass unharmed
    token.logprob = Logprob{12, -std::numeric_limits<float>::infinity(), 4, "\xA9\xFF"};
    token.top = {Logprob{1, -0.1F, 1, "a"}, Logprob{2, -2.5F, 2, std::string("\0b", 2)}};
    event.tokens = {token, TokenOutput{}};
    event.promptTokens = {TokenOutput{7, "p", std::nullopt, {}}};
    event.cachedPromptTokens = 256;
    event.finish = Finish{FinishReason::Length, "stop", TokenId{2}};
    event.preemptions = 2;
    event.times = {Seconds(1.5), Seconds(2.25), Seconds(0), Seconds(1e9 + 0.125)};
    return event;
}

} // namespace

class CodecTest : public QObject
{
    Q_OBJECT

private slots:
    void aGenerateRequestComesThroughWhole();
    void aGenerationEventComesThroughWhole();
    void runnerOptionsAndFactsComeThrough();
    void everyCallAndReplyKeepsItsKindAndNumber();
    void aStreamIsCutIntoFramesAtEveryByte();
    void aFrameOverTheLimitIsRefusedByBothSides();
    void malformedBodiesAreErrors_data();
    void malformedBodiesAreErrors();
    void damagedMessagesNeverCrash();
};

void CodecTest::aGenerateRequestComesThroughWhole()
{
    const auto sent = fullRequest();
    const auto got = throughFront(sent);
    QCOMPARE(got.id, sent.id);
    QCOMPARE(got.prompt, sent.prompt);
    QCOMPARE(got.priority, sent.priority);
    QCOMPARE(got.cacheSalt, sent.cacheSalt);
    QCOMPARE(got.sampling.maxTokens, sent.sampling.maxTokens);
    QCOMPARE(got.sampling.temperature, sent.sampling.temperature);
    QCOMPARE(got.sampling.topK, sent.sampling.topK);
    QVERIFY(got.sampling.seed == sent.sampling.seed);
    QCOMPARE(got.sampling.stop, sent.sampling.stop);
    QCOMPARE(got.sampling.stopTokenIds, sent.sampling.stopTokenIds);
    QCOMPARE(got.sampling.includeStopInOutput, true);
    QCOMPARE(got.sampling.logitBias, sent.sampling.logitBias);
    QCOMPARE(got.sampling.badWords, sent.sampling.badWords);
    QCOMPARE(got.sampling.logprobs, 3);
    QCOMPARE(got.sampling.promptLogprobs, -1);
    QCOMPARE(got.sampling.skipSpecialTokens, false);
    QCOMPARE(got.sampling.grammar, sent.sampling.grammar);
    // What is encoded again is the same bytes: no field is left out of the comparison above.
    QCOMPARE(encodeFrame(FrontMessage(got)).value(), encodeFrame(FrontMessage(sent)).value());
}

void CodecTest::aGenerationEventComesThroughWhole()
{
    const auto sent = fullEvent();
    const auto got = throughRunner(sent);
    QCOMPARE(got.text, sent.text);
    QCOMPARE(got.tokens.size(), std::size_t{2});
    QCOMPARE(got.tokens[0].piece, sent.tokens[0].piece);
    QVERIFY(got.tokens[0].logprob.has_value());
    QVERIFY(std::isinf(got.tokens[0].logprob->logprob));
    QCOMPARE(got.tokens[0].logprob->piece, sent.tokens[0].logprob->piece);
    QCOMPARE(got.tokens[0].top[1].piece, sent.tokens[0].top[1].piece);
    QVERIFY(!got.tokens[1].logprob.has_value());
    QVERIFY(got.finish.has_value());
    QVERIFY(got.finish->reason == FinishReason::Length);
    QVERIFY(got.finish->stopString == sent.finish->stopString);
    QVERIFY(got.finish->stopToken == sent.finish->stopToken);
    QCOMPARE(got.preemptions, 2);
    QCOMPARE(got.times.lastToken.count(), sent.times.lastToken.count());
    QCOMPARE(encodeFrame(RunnerMessage(got)).value(), encodeFrame(RunnerMessage(sent)).value());
    const auto unfinished = throughRunner(GenerationEvent{});
    QVERIFY(!unfinished.finish.has_value());
}

void CodecTest::runnerOptionsAndFactsComeThrough()
{
    RunnerOptions options;
    options.modelPath = "/models/a b.gguf";
    options.kvCacheTokens = std::int64_t{1} << 40;
    options.prefixCaching = false;
    options.rpcEndpoints = {"127.0.0.1:1", "127.0.0.1:2"};
    const auto gotOptions = throughFront(options);
    QCOMPARE(gotOptions.modelPath, options.modelPath);
    QCOMPARE(gotOptions.kvCacheTokens, options.kvCacheTokens);
    QCOMPARE(gotOptions.prefixCaching, false);
    QCOMPARE(gotOptions.rpcEndpoints, options.rpcEndpoints);

    ModelFacts facts;
    facts.architecture = "llama";
    facts.sizeBytes = 96'000'000'000;
    facts.bosToken = 1;
    facts.chatTemplate = std::string(100'000, 'x');
    const auto gotFacts = throughRunner(facts);
    QCOMPARE(gotFacts.architecture, facts.architecture);
    QCOMPARE(gotFacts.sizeBytes, facts.sizeBytes);
    QCOMPARE(gotFacts.chatTemplate, facts.chatTemplate);

    RunnerStats stats;
    stats.kvUsedTokens = 5;
    stats.stepTokens = {1, 256, 0};
    QCOMPARE(throughRunner(stats).stepTokens, stats.stepTokens);
    QCOMPARE(throughRunner(LoadProgress{0.5}).fraction, 0.5);
    const auto fatal = throughRunner(Fatal{{cluster::ErrorCode::InvalidArgument, "bad magic"}});
    QVERIFY(fatal.error.code == cluster::ErrorCode::InvalidArgument);
    QCOMPARE(fatal.error.message, std::string("bad magic"));
    const auto failure = throughRunner(RequestFailure{3, "internal", "why"});
    QCOMPARE(failure.id, RequestId{3});
    QCOMPARE(failure.code, std::string("internal"));
}

void CodecTest::everyCallAndReplyKeepsItsKindAndNumber()
{
    const std::vector<Call::Request> requests{
        ChatPromptRequest{"[]", "", "t", "{}", false, true, true}, TextPromptRequest{"text", false, true},
        DetokenizeRequest{{1, 2}}, GrammarRequest{"", "", "", {"a", "b"}, false}, EmbeddingRequest{4, {9}}};
    CallId number = 100;
    for (const auto &request : requests) {
        const auto got = throughFront(Call{++number, request});
        QCOMPARE(got.call, number);
        QCOMPARE(got.request.index(), request.index());
        QCOMPARE(encodeFrame(FrontMessage(got)).value(),
                 encodeFrame(FrontMessage(Call{number, request})).value());
    }
    const std::vector<decltype(CallReply::value)> values{Prompt{"t", {1}, {"t"}}, std::string("gbnf"),
                                                         std::vector<float>{0.1F, -3e-20F},
                                                         cluster::Error{cluster::ErrorCode::NotFound, "x"}};
    for (const auto &value : values) {
        const auto got = throughRunner(CallReply{++number, value});
        QCOMPARE(got.call, number);
        QCOMPARE(got.value.index(), value.index());
    }
    QCOMPARE(std::get<std::vector<float>>(throughRunner(CallReply{1, values[2]}).value),
             std::get<std::vector<float>>(values[2]));
    QCOMPARE(throughFront(CancelRequest{77}).id, RequestId{77});
    QVERIFY(std::holds_alternative<Shutdown>(
        decodeFrontMessage(bodyOf(encodeFrame(FrontMessage(Shutdown{})))).value()));
}

void CodecTest::aStreamIsCutIntoFramesAtEveryByte()
{
    std::string stream;
    for (int i = 0; i < 5; ++i)
        stream += encodeFrame(FrontMessage(CancelRequest{static_cast<RequestId>(i)})).value();
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        FrameReader reader;
        std::vector<RequestId> ids;
        for (const auto part :
             {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
            reader.append(part);
            for (auto body = reader.next().value(); body; body = reader.next().value())
                ids.push_back(std::get<CancelRequest>(decodeFrontMessage(*body).value()).id);
        }
        QCOMPARE(ids, (std::vector<RequestId>{0, 1, 2, 3, 4}));
        QVERIFY(!reader.hasPartialFrame());
    }
    FrameReader reader;
    reader.append(std::string_view(stream).substr(0, 6));
    QVERIFY(!reader.next().value().has_value());
    QVERIFY(reader.hasPartialFrame());
}

void CodecTest::aFrameOverTheLimitIsRefusedByBothSides()
{
    TextPromptRequest huge;
    huge.text.assign(maxFrameBytes, 'x');
    const auto frame = encodeFrame(FrontMessage(Call{1, huge}));
    QVERIFY(!frame.has_value());
    QVERIFY(frame.error().code == cluster::ErrorCode::ResourceExhausted);

    FrameReader reader;
    reader.append("\xFF\xFF\xFF\x7F");
    QVERIFY(!reader.next().has_value());
    reader.append("more");
    QVERIFY(reader.next().error().code == cluster::ErrorCode::DataLoss);
}

void CodecTest::malformedBodiesAreErrors_data()
{
    QTest::addColumn<QByteArray>("body");
    const auto row = [](const char *name, std::string_view body) {
        QTest::newRow(name) << QByteArray(body.data(), static_cast<qsizetype>(body.size()));
    };
    using namespace std::string_view_literals;
    row("empty", ""sv);
    row("a bare number", "\x01"sv);
    row("a map", "\xA1\x61\x61\x01"sv);
    row("an unknown kind", "\x82\x18\x63\x80"sv);
    row("too few fields", "\x82\x02\x80"sv);
    row("a text where a number belongs", "\x82\x02\x81\x61\x61"sv);
    row("a negative id", "\x82\x02\x81\x20"sv);
    row("bytes left over", "\x82\x02\x81\x01\x00"sv);
    row("a text that claims to be longer than all memory",
        "\x82\x02\x81\x7B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv);
    row("an array that claims to be longer than all memory", "\x9B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv);
    row("a reserved byte", "\x82\x02\x1C"sv);
    row("a million arrays in each other", std::string(1'000'000, '\x81'));
}

void CodecTest::malformedBodiesAreErrors()
{
    QFETCH(QByteArray, body);
    const std::string_view view(body.constData(), static_cast<std::size_t>(body.size()));
    const auto front = decodeFrontMessage(view);
    const auto runner = decodeRunnerMessage(view);
    QVERIFY(!front.has_value());
    QVERIFY(!runner.has_value());
    QVERIFY(front.error().code == cluster::ErrorCode::DataLoss);
    QVERIFY(front.error().message.find("malformed message") != std::string::npos);
}

void CodecTest::damagedMessagesNeverCrash()
{
    std::mt19937 random(7); // NOLINT: the same damage in every run
    const std::string request = bodyOf(encodeFrame(FrontMessage(fullRequest())));
    const std::string event = bodyOf(encodeFrame(RunnerMessage(fullEvent())));
    for (std::size_t length = 0; length < request.size(); ++length)
        QVERIFY(!decodeFrontMessage(std::string_view(request).substr(0, length)).has_value());
    int refused = 0;
    for (int i = 0; i < 4'000; ++i) {
        std::string damaged = i % 2 == 0 ? request : event;
        for (int change = 0; change < 1 + i % 3; ++change)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        const bool accepted
            = i % 2 == 0 ? decodeFrontMessage(damaged).has_value() : decodeRunnerMessage(damaged).has_value();
        refused += accepted ? 0 : 1;
    }
    QVERIFY(refused > 500); // changes within a text or number can't be seen
}

QTEST_APPLESS_MAIN(CodecTest)
#include "tst_codec.moc"
