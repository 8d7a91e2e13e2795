#include "engine/protocol/codec.h"
#include "engine/runner/runner.h"
#include <QtTest>
#include <array>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// A runner in a process of its own, as the front has it.
class RunnerChild
{
public:
    RunnerChild()
    {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0)
            qFatal("no socket pair");
        m_pid = ::fork();
        if (m_pid == 0) {
            ::close(ends[0]);
            ::_exit(engine::runRunner(ends[1]));
        }
        ::close(ends[1]);
        m_descriptor = ends[0];
    }
    ~RunnerChild()
    {
        hangUp();
        if (m_pid > 0)
            exitCode();
    }

    void send(const engine::FrontMessage &message) const
    {
        const std::string frame = engine::encodeFrame(message).value();
        QCOMPARE(::write(m_descriptor, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
    }
    void sendRaw(const std::string &bytes) const
    {
        QCOMPARE(::write(m_descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }

    /// The next message of that kind; others are passed over, a closed socket or a minute of silence ends it.
    template<typename T>
    std::optional<T> next()
    {
        while (true) {
            auto body = m_reader.next();
            if (!body)
                return std::nullopt;
            if (!*body) {
                if (!readSome())
                    return std::nullopt;
                continue;
            }
            engine::RunnerMessage message = engine::decodeRunnerMessage(**body).value();
            if (auto *wanted = std::get_if<T>(&message))
                return std::move(*wanted);
        }
    }
    void hangUp()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
        m_descriptor = -1;
    }
    int exitCode()
    {
        int status = -1;
        ::waitpid(std::exchange(m_pid, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    bool readSome()
    {
        constexpr int patience = 60'000; // milliseconds
        pollfd readable{m_descriptor, POLLIN, 0};
        std::array<char, 65536> buffer{};
        if (::poll(&readable, 1, patience) <= 0)
            return false;
        const ssize_t count = ::read(m_descriptor, buffer.data(), buffer.size());
        if (count > 0)
            m_reader.append({buffer.data(), static_cast<std::size_t>(count)});
        return count > 0;
    }

    pid_t m_pid = -1;
    int m_descriptor = -1;
    engine::FrameReader m_reader;
};

engine::RunnerOptions options(const char *model = "SmolLM2-135M-Instruct.Q4_1.gguf")
{
    engine::RunnerOptions made;
    made.modelPath = std::string(SLIPWAY_MODELS_DIR) + "/" + model;
    made.threads = 1;
    made.maxModelLen = 512;
    made.kvCacheTokens = 1024;
    made.maxNumSeqs = 4;
    return made;
}

engine::GenerateRequest request(engine::RequestId id, int maxTokens)
{
    engine::GenerateRequest made;
    made.id = id;
    made.prompt = {504, 3575, 282, 4649, 314}; // "The capital of France is"
    made.sampling.temperature = 0;
    made.sampling.maxTokens = maxTokens;
    return made;
}

} // namespace

class RunnerTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void aModelIsLoadedAndAnswers();
    void controlIsAnsweredWhileTokensAreMade();
    void embeddingsComeFromEmbeddingModelsOnly();
    void fatalErrorsHaveACode_data();
    void fatalErrorsHaveACode();
    void aBrokenStreamEndsTheRunner();
    void hangingUpEndsTheRunnerInTheMidstOfWork();
    void shutdownEndsTheRunner();
};

void RunnerTest::init()
{
    if (!QFile::exists(QString::fromStdString(options().modelPath)))
        QSKIP("the models are not there: ./dev setup fetches them");
}

void RunnerTest::aModelIsLoadedAndAnswers()
{
    RunnerChild runner;
    runner.send(options());
    QVERIFY(runner.next<engine::LoadProgress>().has_value());
    const auto facts = runner.next<engine::ModelFacts>();
    QVERIFY(facts.has_value());
    QCOMPARE(facts->kvCacheTokens, 1024);
    runner.send(request(7, 3));
    std::string text;
    for (bool isFinished = false; !isFinished;) {
        const auto event = runner.next<engine::GenerationEvent>();
        QVERIFY(event.has_value());
        QCOMPARE(event->id, 7U);
        text += event->text;
        isFinished = event->finish.has_value();
        QVERIFY(event->times.queued.count() > 0 && event->times.firstToken >= event->times.scheduled);
    }
    QCOMPARE(QString::fromStdString(text).left(7), " Paris.");
    const auto stats = runner.next<engine::RunnerStats>();
    QVERIFY(stats.has_value());
    engine::GenerateRequest bad = request(8, 3);
    bad.sampling.grammar = "root ::= [";
    runner.send(bad);
    const auto failure = runner.next<engine::RequestFailure>();
    QVERIFY(failure.has_value());
    QCOMPARE(failure->code, "invalid_argument");
}

void RunnerTest::controlIsAnsweredWhileTokensAreMade()
{
    RunnerChild runner;
    runner.send(options());
    QVERIFY(runner.next<engine::ModelFacts>().has_value());
    engine::GenerateRequest endless = request(1, 400);
    endless.sampling.ignoreEos = true;
    runner.send(endless);
    QVERIFY(runner.next<engine::GenerationEvent>().has_value());
    runner.send(engine::Call{41, engine::TextPromptRequest{"Hello world, 12 times", true, true}});
    const auto tokenized = runner.next<engine::CallReply>();
    QVERIFY(tokenized.has_value());
    QCOMPARE(tokenized->call, 41U);
    QCOMPARE(std::get<engine::Prompt>(tokenized->value).tokens,
             (std::vector<engine::TokenId>{19556, 905, 28, 216, 33, 34, 1711}));
    engine::ChatPromptRequest chat;
    chat.messagesJson = R"([{"role":"user","content":"What is the capital of France?"}])";
    runner.send(engine::Call{42, chat});
    QCOMPARE(std::get<engine::Prompt>(runner.next<engine::CallReply>()->value).tokens.size(),
             std::size_t(37));
    runner.send(engine::Call{43, engine::DetokenizeRequest{{19556, 905}}});
    QCOMPARE(std::get<std::string>(runner.next<engine::CallReply>()->value), "Hello world");
    runner.send(engine::CancelRequest{1});
    std::optional<engine::RunnerStats> stats;
    do {
        stats = runner.next<engine::RunnerStats>();
        QVERIFY(stats.has_value());
    } while (stats->running > 0);
    QCOMPARE(stats->kvUsedTokens, 0);
}

void RunnerTest::embeddingsComeFromEmbeddingModelsOnly()
{
    RunnerChild chat;
    chat.send(options());
    chat.send(engine::Call{1, engine::EmbeddingRequest{1, {5, 6}}});
    const auto refused = chat.next<engine::CallReply>();
    QVERIFY(refused && std::holds_alternative<cluster::Error>(refused->value));
    if (!QFile::exists(QString::fromStdString(options("all-MiniLM-L6-v2-F16.gguf").modelPath)))
        QSKIP("the embedding model is not there: slipwayctl models pull");
    RunnerChild embedder;
    embedder.send(options("all-MiniLM-L6-v2-F16.gguf"));
    QVERIFY(embedder.next<engine::ModelFacts>()->isEmbeddingModel);
    embedder.send(engine::Call{2, engine::EmbeddingRequest{2, {101, 4937, 102}}});
    QCOMPARE(std::get<std::vector<float>>(embedder.next<engine::CallReply>()->value).size(),
             std::size_t(384));
    embedder.send(request(3, 1));
    QCOMPARE(embedder.next<engine::RequestFailure>()->code, "invalid_argument");
}

void RunnerTest::fatalErrorsHaveACode_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<int>("maxModelLen");
    QTest::addColumn<QString>("chatTemplate");
    QTest::addColumn<int>("code");
    const QString good = QString::fromStdString(options().modelPath);
    QTest::newRow("no file") << "/nowhere/x.gguf" << 512 << "" << int(cluster::ErrorCode::NotFound);
    QTest::newRow("not a model") << "/proc/self/exe" << 512 << "" << int(cluster::ErrorCode::DataLoss);
    QTest::newRow("too long") << good << 100000 << "" << int(cluster::ErrorCode::InvalidArgument);
    QTest::newRow("bad template") << good << 512 << "{% if %}" << int(cluster::ErrorCode::InvalidArgument);
}

void RunnerTest::fatalErrorsHaveACode()
{
    QFETCH(QString, model);
    QFETCH(int, maxModelLen);
    QFETCH(QString, chatTemplate);
    QFETCH(int, code);
    RunnerChild runner;
    engine::RunnerOptions asked = options();
    asked.modelPath = model.toStdString();
    asked.maxModelLen = maxModelLen;
    asked.chatTemplate = chatTemplate.toStdString();
    runner.send(asked);
    const auto fatal = runner.next<engine::Fatal>();
    QVERIFY(fatal.has_value());
    QCOMPARE(int(fatal->error.code), code);
    QCOMPARE(runner.exitCode(), 1);
}

void RunnerTest::aBrokenStreamEndsTheRunner()
{
    RunnerChild runner;
    runner.sendRaw(std::string("\x04\0\0\0abcd", 8));
    QCOMPARE(runner.exitCode(), 2);
    RunnerChild unasked;
    unasked.hangUp();
    QCOMPARE(unasked.exitCode(), 0);
}

void RunnerTest::hangingUpEndsTheRunnerInTheMidstOfWork()
{
    RunnerChild runner;
    runner.send(options());
    QVERIFY(runner.next<engine::ModelFacts>().has_value());
    engine::GenerateRequest endless = request(1, 500);
    endless.sampling.ignoreEos = true;
    runner.send(endless);
    QVERIFY(runner.next<engine::GenerationEvent>().has_value());
    runner.hangUp();
    QCOMPARE(runner.exitCode(), 0);
}

void RunnerTest::shutdownEndsTheRunner()
{
    RunnerChild runner;
    runner.send(options());
    QVERIFY(runner.next<engine::ModelFacts>().has_value());
    runner.send(engine::Shutdown{});
    QCOMPARE(runner.exitCode(), 0);
}

QTEST_APPLESS_MAIN(RunnerTest)
#include "tst_runner.moc"
