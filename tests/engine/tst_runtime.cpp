#include "engine/runner/request_sampler.h"
#include "engine/runtime/chat_template.h"
#include "engine/runtime/decode_context.h"
#include "engine/runtime/embedding_context.h"
#include "engine/runtime/grammar_compiler.h"
#include "engine/runtime/library_log.h"
#include "engine/runtime/logprobs.h"
#include "engine/scheduler/scheduler.h"
#include <QtTest>
#include <cmath>
#include <map>

namespace {

constexpr char chatModel[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr char baseModel[] = "gemma-3-270m-q4_k_m.gguf";
constexpr char embeddingModel[] = "all-MiniLM-L6-v2-F16.gguf";

std::string pathOf(const char *name)
{
    return std::string(SLIPWAY_MODELS_DIR) + "/" + name;
}

engine::RunnerOptions optionsFor(const char *name)
{
    engine::RunnerOptions options;
    options.modelPath = pathOf(name);
    options.threads = 1;
    options.maxModelLen = 512;
    options.maxNumSeqs = 4;
    options.kvCacheTokens = 2048;
    return options;
}

struct Answers final : engine::Scheduler::Listener
{
    void onEvent(engine::GenerationEvent event) override
    {
        texts[event.id] += event.text;
        for (engine::TokenOutput &token : event.tokens)
            tokens[event.id].push_back(std::move(token));
        if (event.finish)
            finishes[event.id] = *event.finish;
        cached[event.id] = std::max(cached[event.id], event.cachedPromptTokens);
    }
    void onFailure(engine::RequestFailure failure) override { failures[failure.id] = failure.message; }

    std::map<engine::RequestId, std::string> texts;
    std::map<engine::RequestId, std::vector<engine::TokenOutput>> tokens;
    std::map<engine::RequestId, engine::Finish> finishes;
    std::map<engine::RequestId, std::string> failures;
    std::map<engine::RequestId, int> cached;
};

QString shown(const std::string &text)
{
    return QString::fromStdString(text);
}

engine::Seconds now()
{
    return std::chrono::steady_clock::now().time_since_epoch();
}

/// A model with its context and a scheduler.
struct LoadedModel
{
    explicit LoadedModel(const engine::RunnerOptions &options)
    {
        auto loaded = engine::LanguageModel::load(options, {});
        if (!loaded)
            qFatal("%s", loaded.error().message.c_str());
        model = std::move(*loaded);
        decoder = std::move(*engine::DecodeContext::create(*model, options));
        engine::SchedulerOptions scheduling;
        scheduling.maxNumSeqs = options.maxNumSeqs;
        scheduling.maxModelLen = model->facts().maxModelLen;
        scheduler
            = std::make_unique<engine::Scheduler>(*decoder, model->vocabulary(), scheduling, now, answers);
    }

    void ask(engine::RequestId id, std::vector<engine::TokenId> prompt, engine::SamplingParams sampling)
    {
        engine::GenerateRequest request;
        request.id = id;
        request.prompt = std::move(prompt);
        request.sampling = std::move(sampling);
        auto sampler = engine::makeSampler(request, model->vocabulary(), 0);
        QVERIFY2(sampler.has_value(), sampler ? "" : sampler.error().message.c_str());
        scheduler->submit(std::move(request), std::move(*sampler));
    }
    void runAll()
    {
        while (!scheduler->isIdle())
            scheduler->step();
    }
    [[nodiscard]] std::vector<engine::TokenId> tokens(const char *text) const
    {
        return model->vocabulary().tokenize(text, true, true);
    }

    std::unique_ptr<engine::LanguageModel> model;
    std::unique_ptr<engine::DecodeContext> decoder;
    Answers answers;
    std::unique_ptr<engine::Scheduler> scheduler;
};

engine::SamplingParams greedy(int maxTokens)
{
    engine::SamplingParams sampling;
    sampling.temperature = 0;
    sampling.maxTokens = maxTokens;
    return sampling;
}

} // namespace

class RuntimeTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void cleanupTestCase() { m_chat.reset(); }
    void factsAreThoseOfTheFile();
    void tokensComeBackAsText();
    void theKnownCompletionComesOut();
    void theKnownChatComesOutAndStops();
    void chatsTakeContentParts();
    void aChatCanBeContinued();
    void badChatsAreRefused_data();
    void badChatsAreRefused();
    void schedulingGivesTheSameTextAsPlainDecoding();
    void aCachedPrefixGivesTheSameText();
    void logprobsAreSorted();
    void aSchemaShapesTheAnswer();
    void grammarsShapeTheAnswer_data();
    void grammarsShapeTheAnswer();
    void badGrammarsAreRefused_data();
    void badGrammarsAreRefused();
    void badWordsStayAway();
    void tooLongAContextIsRefused();
    void missingAndBrokenFilesAreRefused();
    void aBaseModelCompletesAndRefusesChats();
    void embeddingsTellRelatedFromUnrelated();

private:
    std::unique_ptr<LoadedModel> m_chat;
};

void RuntimeTest::initTestCase()
{
    engine::routeLibraryLog();
    if (!QFile::exists(QString::fromStdString(pathOf(chatModel))))
        QSKIP("the models are not there: ./dev setup fetches them");
    m_chat = std::make_unique<LoadedModel>(optionsFor(chatModel));
}

void RuntimeTest::factsAreThoseOfTheFile()
{
    const engine::ModelFacts &facts = m_chat->model->facts();
    QCOMPARE(facts.architecture, "llama");
    QCOMPARE(facts.vocabularySize, 49152);
    QCOMPARE(facts.trainedContext, 8192);
    QCOMPARE(facts.layerCount, 30);
    QCOMPARE(facts.headCount, 9);
    QCOMPARE(facts.kvHeadCount, 3);
    QCOMPARE(facts.embeddingSize, 576);
    QCOMPARE(facts.maxModelLen, 512);
    QCOMPARE(facts.kvCacheTokens, 2048);
    QCOMPARE(facts.device, "CPU");
    QVERIFY(facts.hasChatTemplate && !facts.isEmbeddingModel && !facts.addsBos);
    QCOMPARE(facts.eosToken, 2);
    QCOMPARE(m_chat->model->cacheBytesPerToken(), 23040);
    QCOMPARE(m_chat->decoder->cellCount(), 2048);
}

void RuntimeTest::tokensComeBackAsText()
{
    const engine::TokenVocabulary &vocabulary = m_chat->model->vocabulary();
    const std::string text = "Gr\xC3\xBC\xC3\x9F dich, <|im_start|> \xF0\x9F\x98\x80 and   spaces\n";
    const auto tokens = vocabulary.tokenize(text, false, true);
    QCOMPARE(vocabulary.detokenize(tokens).value(), text);
    QVERIFY(vocabulary.tokenize(text, false, false).size() > tokens.size()); // the marker as plain letters
    std::string joined;
    for (const engine::TokenId token : tokens)
        joined += vocabulary.piece(token);
    QCOMPARE(joined, text);
    QVERIFY(!vocabulary.detokenize({5, 49152}).has_value());
    QVERIFY(vocabulary.isEnd(2) && vocabulary.isSpecial(2) && !vocabulary.isSpecial(500));
    QVERIFY(vocabulary.tokenize("", false, true).empty());
}

void RuntimeTest::theKnownCompletionComesOut()
{
    m_chat->ask(1, m_chat->tokens("The capital of France is"), greedy(8));
    m_chat->runAll();
    // As llama-server of the same llama.cpp answers. vLLM, which computes in bfloat16, goes on with "answer
    // is:".
    QCOMPARE(shown(m_chat->answers.texts[1]), " Paris.\n\nThe United States has");
    QCOMPARE(m_chat->answers.finishes[1].reason, engine::FinishReason::Length);
}

void RuntimeTest::theKnownChatComesOutAndStops()
{
    auto chat = engine::ChatTemplate::create(*m_chat->model);
    QVERIFY(chat.has_value());
    engine::ChatPromptRequest request;
    request.messagesJson = R"([{"role":"user","content":"What is the capital of France?"}])";
    const auto prompt = (*chat)->render(request);
    QVERIFY2(prompt.has_value(), prompt ? "" : prompt.error().message.c_str());
    QCOMPARE(prompt->tokens.size(), std::size_t(37));
    request.messagesJson = R"([{"role":"user","content":"What is Kubernetes? one sentence"}])";
    m_chat->ask(2, (*chat)->render(request).value().tokens, greedy(80));
    m_chat->runAll();
    QVERIFY2(shown(m_chat->answers.texts[2]).startsWith("Kubernetes is a software platform"),
             m_chat->answers.texts[2].c_str());
    QCOMPARE(m_chat->answers.finishes[2].reason, engine::FinishReason::Stop);
}

void RuntimeTest::chatsTakeContentParts()
{
    auto chat = engine::ChatTemplate::create(*m_chat->model);
    engine::ChatPromptRequest plain;
    plain.messagesJson = R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}])";
    engine::ChatPromptRequest parts;
    parts.messagesJson
        = R"([{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"role":"user","content":[{"type":"text","text":"Hi"}]}])";
    QCOMPARE((*chat)->render(parts).value().text, (*chat)->render(plain).value().text);
    plain.templateKwargsJson = R"({"anything":1})";
    QVERIFY((*chat)->render(plain).has_value());
    plain.chatTemplate = "{% for m in messages %}[{{ m.role }}:{{ m.content }}:{{ anything }}]{% endfor %}";
    QCOMPARE((*chat)->render(plain).value().text, "[system:Be brief.:1][user:Hi:1]");
}

void RuntimeTest::aChatCanBeContinued()
{
    auto chat = engine::ChatTemplate::create(*m_chat->model);
    engine::ChatPromptRequest request;
    request.messagesJson
        = R"([{"role":"user","content":"Count."},{"role":"assistant","content":"One, two,"}])";
    request.continueFinalMessage = true;
    request.addGenerationPrompt = false;
    const std::string text = (*chat)->render(request).value().text;
    QVERIFY(QString::fromStdString(text).endsWith("<|im_start|>assistant\nOne, two,"));
}

void RuntimeTest::badChatsAreRefused_data()
{
    QTest::addColumn<QString>("messages");
    QTest::addColumn<QString>("chatTemplate");
    QTest::addColumn<QString>("part");
    const QString good = R"([{"role":"user","content":"Hi"}])";
    QTest::newRow("not JSON") << "[{"
                              << ""
                              << "prompt";
    QTest::newRow("not an array") << R"({"role":"user"})"
                                  << ""
                                  << "array";
    QTest::newRow("no role") << R"([{"content":"Hi"}])"
                             << ""
                             << "role";
    QTest::newRow("an image")
        << R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])"
        << ""
        << "image_url";
    QTest::newRow("template with a syntax error") << good << "{% for m in %}"
                                                  << "template";
    QTest::newRow("template that raises") << good << "{{ raise_exception('only odd chats') }}"
                                          << "only odd chats";
}

void RuntimeTest::badChatsAreRefused()
{
    QFETCH(QString, messages);
    QFETCH(QString, chatTemplate);
    QFETCH(QString, part);
    auto chat = engine::ChatTemplate::create(*m_chat->model);
    engine::ChatPromptRequest request;
    request.messagesJson = messages.toStdString();
    request.chatTemplate = chatTemplate.toStdString();
    const auto prompt = (*chat)->render(request);
    QVERIFY(!prompt.has_value());
    QCOMPARE(prompt.error().code, cluster::ErrorCode::InvalidArgument);
    QVERIFY2(QString::fromStdString(prompt.error().message).contains(part), prompt.error().message.c_str());
}

void RuntimeTest::schedulingGivesTheSameTextAsPlainDecoding()
{
    const engine::RunnerOptions options = optionsFor(chatModel);
    auto plain = std::move(*engine::DecodeContext::create(*m_chat->model, options));
    std::vector<engine::TokenId> history = m_chat->tokens("A list of colours: red,");
    const std::vector<engine::TokenId> prompt = history;
    std::string text;
    for (int i = 0, done = 0; i < 12; ++i) {
        std::vector<engine::BatchRow> rows;
        for (; done < static_cast<int>(history.size()); ++done)
            rows.push_back({history[static_cast<std::size_t>(done)], done, 0,
                            done + 1 == static_cast<int>(history.size())});
        QCOMPARE(plain->decode(rows), engine::DecodeStatus::Done);
        history.push_back(engine::argmax(plain->logits(static_cast<int>(rows.size()) - 1)));
        text += m_chat->model->vocabulary().piece(history.back());
    }
    m_chat->ask(10, prompt, greedy(12));
    m_chat->runAll();
    QCOMPARE(m_chat->answers.texts[10], text);
}

void RuntimeTest::aCachedPrefixGivesTheSameText()
{
    const auto prompt
        = m_chat->tokens("The three primary colours are red, blue and yellow. The sky is usually");
    m_chat->ask(20, prompt, greedy(4));
    m_chat->runAll();
    m_chat->ask(21, prompt, greedy(4));
    m_chat->runAll();
    QCOMPARE(m_chat->answers.cached[21], static_cast<int>(prompt.size()) - 1);
    QCOMPARE(m_chat->answers.texts[21], m_chat->answers.texts[20]);
}

void RuntimeTest::logprobsAreSorted()
{
    engine::SamplingParams sampling = greedy(3);
    sampling.logprobs = 5;
    m_chat->ask(30, m_chat->tokens("The capital of France is"), sampling);
    m_chat->runAll();
    const auto &tokens = m_chat->answers.tokens[30];
    QCOMPARE(tokens.size(), std::size_t(3));
    for (const engine::TokenOutput &token : tokens) {
        QCOMPARE(token.logprob->rank, 1);
        QCOMPARE(token.top.size(), std::size_t(5));
        QVERIFY(token.logprob->logprob < 0 && token.logprob->logprob == token.top[0].logprob);
        QVERIFY(token.top[0].logprob >= token.top[4].logprob);
    }
    QCOMPARE(tokens[0].piece, " Paris");
}

void RuntimeTest::aSchemaShapesTheAnswer()
{
    engine::GrammarRequest request;
    request.jsonSchema
        = R"({"type":"object","properties":{"city":{"type":"string","maxLength":12},"large":{"type":"boolean"}},"required":["city","large"],"additionalProperties":false})";
    const auto grammar = engine::compileGrammar(request, m_chat->model->vocabulary());
    QVERIFY2(grammar.has_value(), grammar ? "" : grammar.error().message.c_str());
    engine::SamplingParams sampling = greedy(80);
    sampling.grammar = *grammar;
    m_chat->ask(40, m_chat->tokens("Paris as JSON:"), sampling);
    m_chat->runAll();
    const QJsonObject object
        = QJsonDocument::fromJson(QByteArray::fromStdString(m_chat->answers.texts[40])).object();
    QVERIFY2(object["city"].isString() && object["large"].isBool(), m_chat->answers.texts[40].c_str());
    QCOMPARE(m_chat->answers.finishes[40].reason, engine::FinishReason::Stop);
}

void RuntimeTest::grammarsShapeTheAnswer_data()
{
    QTest::addColumn<QString>("regex");
    QTest::addColumn<QStringList>("choices");
    QTest::addColumn<QString>("gbnf");
    QTest::addColumn<QString>("pattern");
    QTest::newRow("regex") << R"(\d{3}-[a-c]+?x)" << QStringList() << ""
                           << R"(\d{3}-[a-c]+x)";
    QTest::newRow("anchors and groups") << R"(^(?:yes|no)\.(a|b){2}$)" << QStringList() << ""
                                        << R"((yes|no)\.[ab]{2})";
    QTest::newRow("negated class") << R"([^\d\s]{4})" << QStringList() << ""
                                   << R"([^\d\s]{4})";
    QTest::newRow("choices") << "" << QStringList{"left \"side\"", "right\\"} << ""
                             << R"(left "side"|right\\)";
    QTest::newRow("GBNF") << "" << QStringList() << "root ::= [0-9]+ \"!\""
                          << "[0-9]+!";
}

void RuntimeTest::grammarsShapeTheAnswer()
{
    QFETCH(QString, regex);
    QFETCH(QStringList, choices);
    QFETCH(QString, gbnf);
    QFETCH(QString, pattern);
    engine::GrammarRequest request;
    request.regex = regex.toStdString();
    request.gbnf = gbnf.toStdString();
    for (const QString &choice : choices)
        request.choices.push_back(choice.toStdString());
    const auto grammar = engine::compileGrammar(request, m_chat->model->vocabulary());
    QVERIFY2(grammar.has_value(), grammar ? "" : grammar.error().message.c_str());
    engine::SamplingParams sampling;
    sampling.seed = 5;
    sampling.maxTokens = 40;
    sampling.grammar = *grammar;
    static engine::RequestId id = 50;
    m_chat->ask(++id, m_chat->tokens("Answer:"), sampling);
    m_chat->runAll();
    const QString text = QString::fromStdString(m_chat->answers.texts[id]);
    const bool isWhole = m_chat->answers.finishes[id].reason == engine::FinishReason::Stop;
    const QRegularExpression expected(QRegularExpression::anchoredPattern(pattern));
    const auto match = expected.match(
        text, 0, isWhole ? QRegularExpression::NormalMatch : QRegularExpression::PartialPreferCompleteMatch);
    QVERIFY2(match.hasMatch() || match.hasPartialMatch(), qPrintable(text));
}

void RuntimeTest::badGrammarsAreRefused_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("source");
    QTest::newRow("schema that is not JSON") << "schema"
                                             << "{";
    QTest::newRow("schema of an unknown type") << "schema"
                                               << R"({"type":"nonsense"})";
    QTest::newRow("no root") << "gbnf"
                             << "start ::= \"a\"";
    QTest::newRow("not GBNF") << "gbnf"
                              << "root ::= [";
    QTest::newRow("unclosed group") << "regex"
                                    << "(a|b";
    QTest::newRow("unclosed class") << "regex"
                                    << "[abc";
    QTest::newRow("look-ahead") << "regex"
                                << "a(?=b)";
    QTest::newRow("back reference") << "regex"
                                    << R"((a)\1)";
    QTest::newRow("nothing to repeat") << "regex"
                                       << "*a";
    QTest::newRow("anchor inside") << "regex"
                                   << "a^b";
    QTest::newRow("nothing at all") << "regex"
                                    << "";
}

void RuntimeTest::badGrammarsAreRefused()
{
    QFETCH(QString, kind);
    QFETCH(QString, source);
    engine::GrammarRequest request;
    (kind == "schema"     ? request.jsonSchema
         : kind == "gbnf" ? request.gbnf
                          : request.regex)
        = source.toStdString();
    const auto grammar = engine::compileGrammar(request, m_chat->model->vocabulary());
    QVERIFY2(!grammar.has_value(), grammar ? grammar->c_str() : "");
    QCOMPARE(grammar.error().code, cluster::ErrorCode::InvalidArgument);
}

void RuntimeTest::badWordsStayAway()
{
    engine::SamplingParams sampling = greedy(6);
    sampling.badWords = {"Paris"};
    m_chat->ask(70, m_chat->tokens("The capital of France is"), sampling);
    m_chat->runAll();
    QVERIFY(!QString::fromStdString(m_chat->answers.texts[70]).contains("Paris"));
    QVERIFY(!m_chat->answers.texts[70].empty());
}

void RuntimeTest::tooLongAContextIsRefused()
{
    engine::RunnerOptions options = optionsFor(chatModel);
    options.maxModelLen = 10000;
    const auto loaded = engine::LanguageModel::load(options, {});
    QVERIFY(!loaded.has_value());
    QCOMPARE(loaded.error().code, cluster::ErrorCode::InvalidArgument);
    QVERIFY(loaded.error().message.find("8192") != std::string::npos);
    options = optionsFor(chatModel);
    options.kvCacheTokens = std::int64_t(1) << 40;
    const auto huge = engine::LanguageModel::load(options, {});
    QVERIFY(!huge.has_value());
    QCOMPARE(huge.error().code, cluster::ErrorCode::ResourceExhausted);
}

void RuntimeTest::missingAndBrokenFilesAreRefused()
{
    engine::RunnerOptions options = optionsFor("no such file.gguf");
    QCOMPARE(engine::LanguageModel::load(options, {}).error().code, cluster::ErrorCode::NotFound);
    QTemporaryFile broken;
    QVERIFY(broken.open());
    broken.write("GGUF but then nothing of the kind");
    broken.flush();
    options.modelPath = broken.fileName().toStdString();
    const auto loaded = engine::LanguageModel::load(options, {});
    QVERIFY(!loaded.has_value());
    QCOMPARE(loaded.error().code, cluster::ErrorCode::DataLoss);
    QVERIFY(loaded.error().message.find(options.modelPath) != std::string::npos);
}

void RuntimeTest::aBaseModelCompletesAndRefusesChats()
{
    if (!QFile::exists(QString::fromStdString(pathOf(baseModel))))
        QSKIP("the base model is not there: slipwayctl models pull");
    LoadedModel base(optionsFor(baseModel));
    QVERIFY(!base.model->facts().hasChatTemplate && base.model->facts().addsBos);
    QCOMPARE(base.model->facts().vocabularySize, 262144);
    auto chat = engine::ChatTemplate::create(*base.model);
    QVERIFY(chat.has_value());
    engine::ChatPromptRequest request;
    request.messagesJson = R"([{"role":"user","content":"Hi"}])";
    const auto refused = (*chat)->render(request);
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().code, cluster::ErrorCode::FailedPrecondition);
    QVERIFY(refused.error().message.find("template") != std::string::npos);
    base.ask(1, base.tokens("Question: What is the capital of France?\nAnswer:"), greedy(4));
    base.ask(2, base.tokens("Question: What is the capital of France?\nAnswer:"), greedy(4));
    base.runAll();
    QVERIFY2(base.answers.texts[1].find("Paris") != std::string::npos, base.answers.texts[1].c_str());
    base.ask(3, base.tokens("Question: What is the capital of France?\nAnswer:"), greedy(4));
    base.runAll();
    QCOMPARE(base.answers.cached[3], 12); // shared, although most layers look through a sliding window
    QCOMPARE(base.answers.texts[3].substr(0, 6), base.answers.texts[1].substr(0, 6));
}

void RuntimeTest::embeddingsTellRelatedFromUnrelated()
{
    if (!QFile::exists(QString::fromStdString(pathOf(embeddingModel))))
        QSKIP("the embedding model is not there: slipwayctl models pull");
    engine::RunnerOptions options = optionsFor(embeddingModel);
    auto model = engine::LanguageModel::load(options, {});
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QVERIFY((*model)->facts().isEmbeddingModel);
    auto context = engine::EmbeddingContext::create(**model, options);
    QVERIFY2(context.has_value(), context ? "" : context.error().message.c_str());
    const auto vectorOf = [&](const char *text) {
        std::vector<float> vector
            = (*context)->embed((*model)->vocabulary().tokenize(text, true, true)).value();
        float length = 0;
        for (const float x : vector)
            length += x * x;
        for (float &x : vector)
            x /= std::sqrt(length);
        return vector;
    };
    const auto similarity = [](const std::vector<float> &a, const std::vector<float> &b) {
        float sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i)
            sum += a[i] * b[i];
        return sum;
    };
    const auto cat = vectorOf("A cat sits on the mat.");
    QCOMPARE(cat.size(), std::size_t(384));
    QVERIFY(similarity(cat, vectorOf("A kitten is sitting on a rug.")) > 0.5F);
    QVERIFY(similarity(cat, vectorOf("Stock markets fell sharply today.")) < 0.2F);
    QVERIFY(!(*context)->embed({}).has_value());
    QVERIFY(!(*context)->embed({99999999}).has_value());
    QVERIFY(!engine::EmbeddingContext::create(*m_chat->model, options).has_value());
}

QTEST_GUILESS_MAIN(RuntimeTest)
#include "tst_runtime.moc"
