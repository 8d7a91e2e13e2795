#include "engine/supervisor/last_words.h"
#include "engine/supervisor/runner_backend.h"

#include <QTest>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <sys/wait.h>

using namespace engine;
using namespace std::chrono_literals;

namespace {

/// Expected to be long enough always; only a failing test waits for it.
constexpr auto patience = 20s;

SupervisorOptions optionsFor(const std::string &behaviour)
{
    SupervisorOptions options;
    options.program.path = FAKE_RUNNER;
    options.runner.modelPath = behaviour;
    options.firstBackoff = 1ms;
    options.maxBackoff = 20ms;
    return options;
}

/// A backend with a fake runner, and what it said.
class Bench
{
public:
    explicit Bench(SupervisorOptions options)
        : backend(context, [this, &options] {
              options.log = [this](std::string_view line) { lines.emplace_back(line); };
              return options;
          }())
    {
        backend.onState([this](BackendState state) { states.push_back(state); });
        backend.onProgress([this](double fraction) { progress.push_back(fraction); });
        backend.onStats([this](const RunnerStats &newStats) { stats.push_back(newStats); });
    }

    boost::asio::io_context context;
    std::vector<std::string> lines;
    std::vector<BackendState> states;
    std::vector<double> progress;
    std::vector<RunnerStats> stats;
    RunnerBackend backend;
    std::vector<std::string> texts;
    std::optional<Finish> finish;
    std::optional<RequestFailure> failure;

    template<typename Condition>
    bool waitFor(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!condition() && std::chrono::steady_clock::now() < end) {
            context.restart();
            context.run_one_for(100ms);
        }
        return condition();
    }

    bool startAndWaitFor(BackendState state)
    {
        backend.start();
        return waitFor([&] { return backend.state() == state; });
    }

    void generate(RequestId id)
    {
        GenerateRequest request;
        request.id = id;
        request.prompt = {1};
        backend.generate(request, [this](const auto &event) {
            if (const auto *failed = std::get_if<RequestFailure>(&event)) {
                failure = *failed;
                return;
            }
            const auto &generated = std::get<GenerationEvent>(event);
            texts.push_back(generated.text);
            if (generated.finish)
                finish = generated.finish;
        });
    }
};

bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

class SupervisorTest : public QObject
{
    Q_OBJECT

private slots:
    void aRequestIsAnswered();
    void theRunnerGetsTheEnvironmentItNeeds();
    void aSlowLoadIsNotADeadOne();
    void callsAreAnsweredEachByItsOwnReply();
    void aLostRunnerEndsRequestsAndIsReplaced_data();
    void aLostRunnerEndsRequestsAndIsReplaced();
    void aKilledRunnerIsNamedAsSuch();
    void aRunnerThatNeverGetsReadyIsGivenUp_data();
    void aRunnerThatNeverGetsReadyIsGivenUp();
    void aProgramThatIsMissingIsGivenUpAtOnce();
    void aCancelledRequestHearsNothingMore();
    void requestsBeforeReadyAreRefusedLater();
    void statisticsStartOverWithTheRunner();
    void stopEndsTheRunner_data();
    void stopEndsTheRunner();
    void surroundingsArePreparedAndReleasedEachTime();
    void droppingTheBackendKillsTheRunner();
    void theCauseIsFoundAmongTheLastWords();
};

void SupervisorTest::aRequestIsAnswered()
{
    Bench bench(optionsFor("ok"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    QCOMPARE(bench.backend.facts().maxModelLen, 128);
    bench.generate(1);
    QVERIFY2(bench.texts.empty(), "no callback from within the call");
    QVERIFY(bench.waitFor([&] { return bench.finish.has_value(); }));
    QCOMPARE(bench.texts, (std::vector<std::string>{"one", "two"}));
    QVERIFY(!bench.failure);
}

void SupervisorTest::theRunnerGetsTheEnvironmentItNeeds()
{
    Bench bench(optionsFor("ok"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    QCOMPARE(bench.backend.facts().device, std::string("passive,1"));
}

void SupervisorTest::aSlowLoadIsNotADeadOne()
{
    auto options = optionsFor("slow load");
    options.loadDeadline = 5s;
    Bench bench(options);
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    QVERIFY(bench.progress.size() > 10);
    QCOMPARE(bench.backend.restartCount(), 0);
}

void SupervisorTest::callsAreAnsweredEachByItsOwnReply()
{
    Bench bench(optionsFor("ok"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    std::vector<std::string> answers;
    const auto add = [&answers](const cluster::Result<Prompt> &prompt) {
        answers.push_back(prompt ? prompt->text : prompt.error().message);
    };
    bench.backend.tokenize({"first", true, true}, add);
    bench.backend.tokenize({"fail", true, true}, add);
    bench.backend.tokenize({"wrong kind", true, true}, add);
    std::string grammar;
    bench.backend.compileGrammar({},
                                 [&grammar](const cluster::Result<std::string> &reply) { grammar = *reply; });
    QVERIFY(bench.waitFor([&] { return answers.size() == 3 && !grammar.empty(); }));
    QCOMPARE(answers[0], std::string("first"));
    QCOMPARE(answers[1], std::string("no"));
    QVERIFY(contains(answers[2], "another kind"));
}

void SupervisorTest::aLostRunnerEndsRequestsAndIsReplaced_data()
{
    QTest::addColumn<QString>("behaviour");
    QTest::addColumn<QString>("cause");
    QTest::newRow("abort") << "abort while generating"
                           << "signal 6 (Aborted): /src/ggml.c:77: GGML_ASSERT(n_tokens <= n_batch) failed";
    QTest::newRow("exit with 0") << "exit while generating"
                                 << "ended although nobody asked";
    QTest::newRow("hang") << "hang while generating"
                          << "it hung: no step for 0.2 s while 1 requests were running";
    QTest::newRow("garbage") << "garbage while generating"
                             << "malformed message";
    QTest::newRow("huge frame") << "a huge frame while generating"
                                << "over the limit";
}

void SupervisorTest::aLostRunnerEndsRequestsAndIsReplaced()
{
    QFETCH(QString, behaviour);
    QFETCH(QString, cause);
    auto options = optionsFor(behaviour.toStdString());
    if (behaviour.startsWith(QLatin1String("hang")))
        options.stepDeadline = 200ms;
    Bench bench(options);
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    bench.generate(7);
    QVERIFY(bench.waitFor([&] { return bench.failure.has_value(); }));
    QCOMPARE(bench.failure->id, RequestId{7});
    QCOMPARE(bench.failure->code, std::string("unavailable"));
    QVERIFY2(contains(bench.failure->message, qPrintable(cause)), bench.failure->message.c_str());
    QVERIFY(contains(bench.failure->message, "the request was not finished"));
    QVERIFY2(!bench.finish, "a lost request is never a finished one");
    QVERIFY(bench.waitFor([&] { return bench.backend.state() == BackendState::Ready; }));
    QCOMPARE(bench.backend.restartCount(), 1);
    QCOMPARE(bench.states,
             (std::vector<BackendState>{BackendState::Ready, BackendState::Restarting, BackendState::Ready}));
}

void SupervisorTest::aKilledRunnerIsNamedAsSuch()
{
    Bench bench(optionsFor("wait for cancel"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    bench.generate(1);
    QVERIFY(bench.waitFor([&] { return !bench.texts.empty(); }));
    QCOMPARE(::kill(bench.backend.runnerPid(), SIGKILL), 0);
    QVERIFY(bench.waitFor([&] { return bench.failure.has_value(); }));
    QVERIFY2(contains(bench.failure->message, "signal 9 (Killed)"), bench.failure->message.c_str());
}

void SupervisorTest::aRunnerThatNeverGetsReadyIsGivenUp_data()
{
    QTest::addColumn<QString>("behaviour");
    QTest::addColumn<int>("starts");
    QTest::addColumn<QString>("cause");
    QTest::newRow("it says that the model is bad")
        << "fatal while loading" << 1 << "the model's tensors hold NaN";
    QTest::newRow("abort") << "abort while loading" << 3 << "GGML_ASSERT";
    QTest::newRow("exit") << "exit while loading" << 3 << "exit code 3";
    QTest::newRow("silence") << "silent while loading" << 3 << "silent for 0.2 s while loading";
    QTest::newRow("garbage") << "garbage while loading" << 3 << "over the limit";
}

void SupervisorTest::aRunnerThatNeverGetsReadyIsGivenUp()
{
    QFETCH(QString, behaviour);
    QFETCH(int, starts);
    QFETCH(QString, cause);
    auto options = optionsFor(behaviour.toStdString());
    options.loadDeadline = behaviour.startsWith(QLatin1String("silent")) ? 200ms : 20'000ms;
    Bench bench(options);
    QVERIFY(bench.startAndWaitFor(BackendState::Failed));
    QCOMPARE(bench.backend.restartCount() + 1, starts);
    QVERIFY2(contains(bench.backend.stateMessage(), qPrintable(cause)), bench.backend.stateMessage().c_str());
    bench.generate(1);
    QVERIFY(bench.waitFor([&] { return bench.failure.has_value(); }));
    QVERIFY(contains(bench.failure->message, qPrintable(cause)));
}

void SupervisorTest::aProgramThatIsMissingIsGivenUpAtOnce()
{
    auto options = optionsFor("ok");
    options.program.path = "/nonexistent/runner";
    Bench bench(options);
    QVERIFY(bench.startAndWaitFor(BackendState::Failed));
    QVERIFY(contains(bench.backend.stateMessage(), "'/nonexistent/runner': No such file"));
    QVERIFY(bench.backend.failureCode() == cluster::ErrorCode::NotFound);
}

void SupervisorTest::aCancelledRequestHearsNothingMore()
{
    Bench bench(optionsFor("wait for cancel"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    bench.generate(1);
    QVERIFY(bench.waitFor([&] { return bench.backend.stats().running == 1; }));
    bench.backend.cancel(1);
    bench.backend.cancel(99); // unknown
    QVERIFY(bench.waitFor([&] { return bench.backend.stats().running == 0; }));
    QCOMPARE(bench.texts, (std::vector<std::string>{"one"}));
    QVERIFY(!bench.finish && !bench.failure);
}

void SupervisorTest::requestsBeforeReadyAreRefusedLater()
{
    Bench bench(optionsFor("ok"));
    bench.generate(5);
    QVERIFY(!bench.failure);
    QVERIFY(bench.waitFor([&] { return bench.failure.has_value(); }));
    QCOMPARE(bench.failure->code, std::string("unavailable"));
    QVERIFY(contains(bench.failure->message, "still being loaded"));
}

void SupervisorTest::statisticsStartOverWithTheRunner()
{
    Bench bench(optionsFor("wait for cancel"));
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    bench.generate(1);
    QVERIFY(bench.waitFor([&] { return bench.backend.stats().running == 1; }));
    QCOMPARE(bench.stats.back().stepTokens, (std::vector<int>{1}));
    QVERIFY(bench.backend.stats().stepTokens.empty());
    ::kill(bench.backend.runnerPid(), SIGKILL);
    QVERIFY(bench.waitFor([&] { return bench.failure.has_value(); }));
    QCOMPARE(bench.backend.stats().running, 0);
    QCOMPARE(bench.stats.back().running, 0);
}

void SupervisorTest::stopEndsTheRunner_data()
{
    QTest::addColumn<QString>("behaviour");
    QTest::newRow("when asked") << "wait for cancel";
    QTest::newRow("by force") << "deaf to shutdown";
}

void SupervisorTest::stopEndsTheRunner()
{
    QFETCH(QString, behaviour);
    auto options = optionsFor(behaviour.toStdString());
    options.stopDeadline = behaviour.startsWith(QLatin1String("deaf")) ? 100ms : 20'000ms;
    Bench bench(options);
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    if (behaviour.startsWith(QLatin1String("wait")))
        bench.generate(1);
    const int pid = bench.backend.runnerPid();
    bool stopped = false;
    bench.backend.stop([&stopped] { stopped = true; });
    QVERIFY(bench.waitFor([&] { return stopped; }));
    QVERIFY(bench.backend.state() == BackendState::Stopped);
    QCOMPARE(bench.failure.has_value(), behaviour.startsWith(QLatin1String("wait")));
    QCOMPARE(::kill(pid, 0), -1);
}

namespace {

class CountingSurroundings : public RunnerSurroundings
{
public:
    explicit CountingSurroundings(Bench *&bench) : m_bench(bench) {}

    int prepared = 0;
    int released = 0;

    void prepare(RunnerOptions options, Prepared done) override
    {
        ++prepared;
        const bool first = prepared == 1;
        boost::asio::post(m_bench->context, [done = std::move(done), options, first] {
            if (first)
                done(cluster::fail(cluster::ErrorCode::Unavailable, "worker 1 does not answer"));
            else
                done(options);
        });
    }

    void release() override { ++released; }

private:
    Bench *&m_bench;
};

} // namespace

void SupervisorTest::surroundingsArePreparedAndReleasedEachTime()
{
    Bench *self = nullptr;
    CountingSurroundings surroundings(self);
    auto options = optionsFor("abort while generating");
    options.surroundings = &surroundings;
    Bench bench(options);
    self = &bench;
    QVERIFY(bench.startAndWaitFor(BackendState::Ready));
    QCOMPARE(surroundings.prepared, 2);
    QCOMPARE(surroundings.released, 1);
    QVERIFY(contains(bench.lines.front(), "worker 1 does not answer"));
    bench.backend.loseRunner("worker 2 was lost");
    QVERIFY(bench.waitFor([&] { return bench.backend.state() == BackendState::Restarting; }));
    QVERIFY(contains(bench.backend.stateMessage(), "worker 2 was lost"));
    QVERIFY(bench.waitFor([&] { return bench.backend.state() == BackendState::Ready; }));
    QCOMPARE(surroundings.prepared, 3);
    QCOMPARE(surroundings.released, 2);
}

void SupervisorTest::droppingTheBackendKillsTheRunner()
{
    int pid = -1;
    {
        Bench bench(optionsFor("wait for cancel"));
        QVERIFY(bench.startAndWaitFor(BackendState::Ready));
        pid = bench.backend.runnerPid();
        QCOMPARE(::kill(pid, 0), 0);
    }
    QCOMPARE(::kill(pid, 0), -1);
}

void SupervisorTest::theCauseIsFoundAmongTheLastWords()
{
    LastWords words;
    QCOMPARE(words.cause(), std::string());
    words.add("loading");
    words.add("   ");
    QCOMPARE(words.cause(), std::string("loading"));
    words.add("terminate called after throwing an instance of 'std::bad_alloc'");
    words.add("  what():  std::bad_alloc");
    QVERIFY(contains(words.cause(), "terminate called"));
    for (int i = 0; i < 100; ++i)
        words.add(std::string(1000, 'x'));
    QCOMPARE(words.cause().size(), std::size_t{500});
}

QTEST_APPLESS_MAIN(SupervisorTest)
#include "tst_supervisor.moc"
