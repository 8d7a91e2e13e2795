#include "engine/commandline/arguments.h"
#include "engine/commandline/flag_values.h"
#include "engine/commandline/model_check.h"
#include "engine/commandline/serve_flags.h"
#include "engine/commandline/worker_flags.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace engine;

namespace {

using Words = std::vector<std::string>;

Words words(const QString &line)
{
    Words result;
    for (const QString &word : line.split(QLatin1Char(' '), Qt::SkipEmptyParts))
        result.push_back(word.toStdString());
    return result;
}

std::optional<std::string> nothing(const std::string & /*name*/)
{
    return std::nullopt;
}

cluster::Result<ServeOptions> serve(const QString &line)
{
    return parseServe(words(line), nothing);
}

QString written(const QTemporaryDir &directory, const char *name, const char *content)
{
    QFile file(directory.filePath(QLatin1String(name)));
    if (file.open(QIODevice::WriteOnly))
        file.write(content);
    return file.fileName();
}

} // namespace

class CommandLineTest : public QObject
{
    Q_OBJECT

private slots:
    void theFlagsOfVllmAreUnderstood();
    void defaultsAreSafe();
    void mistakesAreNamed_data();
    void mistakesAreNamed();
    void flagsThatMeanNothingAreTakenWithAWarning();
    void humanIntegers_data();
    void humanIntegers();
    void aConfigFileGivesFlagsAndTheCommandLineWins();
    void aTemplateIsAFileOrText();
    void theEnvironmentCounts();
    void aWorkerOutsideLoopbackNeedsAToken();
    void modelsAreCheckedInVllmsWords_data();
    void modelsAreCheckedInVllmsWords();
    void unevenLayersAreSplitAsVllmDoes();
};

void CommandLineTest::theFlagsOfVllmAreUnderstood()
{
    const auto o = serve(QStringLiteral(
        "m.gguf --served-model-name a b --host 0.0.0.0 --port=8001 --api-key k1 k2 --api_key k3 "
        "--max_model_len 2k "
        "--max-num-seqs 8 --max-num-batched-tokens 512 -tp 2 -pp 3 --no-enable-prefix-caching --dtype "
        "bfloat16 --seed -5 "
        "--reasoning-parser qwen3 --enable-auto-tool-choice --tool-call-parser hermes --max-logprobs -1 "
        "--max-num-queued-reqs 10 --max-num-queued-tokens 1K --enable-request-id-headers "
        "--enable-server-load-tracking "
        "--enable-prompt-tokens-details --root-path /x --allowed-origins [\"*\"] --api-dialect 0.8 --threads "
        "1 "
        "--kv-cache-tokens 4K --gpu-layers -1 --rpc-worker 127.0.0.1:1 127.0.0.1:2 --rpc-worker "
        "127.0.0.1:3"));
    QVERIFY2(o.has_value(), o ? "" : o.error().message.c_str());
    QCOMPARE(o->model, std::string("m.gguf"));
    QCOMPARE(o->server.servedModelNames, (Words{"a", "b"}));
    QCOMPARE(o->server.apiKeys, (Words{"k1", "k2", "k3"}));
    QCOMPARE(o->server.port, std::uint16_t{8001});
    QCOMPARE(o->runner.maxModelLen, 2000);
    QCOMPARE(o->runner.maxNumSeqs, 8);
    QCOMPARE(o->runner.maxNumBatchedTokens, 512);
    QCOMPARE(o->tensorParallel, 2);
    QCOMPARE(o->pipelineParallel, 3);
    QCOMPARE(o->runner.prefixCaching, false);
    QCOMPARE(o->runner.seed, std::int64_t{-5});
    QCOMPARE(o->server.maxLogprobs, -1);
    QCOMPARE(o->server.maxNumQueuedTokens, std::int64_t{1024});
    QCOMPARE(o->server.allowedOrigins, (Words{"*"}));
    QVERIFY(o->server.dialect == ApiDialect::V085);
    QCOMPARE(o->runner.kvCacheTokens, std::int64_t{4096});
    QCOMPARE(o->workers, (Words{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}));
    QVERIFY(o->warnings.empty());
}

void CommandLineTest::defaultsAreSafe()
{
    const auto o = serve(QStringLiteral("dir/m.gguf"));
    QVERIFY(o.has_value());
    QCOMPARE(o->server.host, std::string("127.0.0.1"));
    QCOMPARE(o->server.port, std::uint16_t{8000});
    QCOMPARE(o->server.servedModelNames, (Words{"dir/m.gguf"}));
    QVERIFY(o->warnings.empty());
    const auto open = serve(QStringLiteral("m.gguf --host 0.0.0.0"));
    QCOMPARE(open->warnings.size(), std::size_t{1});
    QVERIFY(open->warnings[0].find("without --api-key") != std::string::npos);
}

void CommandLineTest::mistakesAreNamed_data()
{
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("message");
    QTest::newRow("unknown, near") << "m --max-model-length 5"
                                   << "unknown flag --max-model-length; did you mean --max-model-len?";
    QTest::newRow("unknown, with underscores") << "m --served_model_nam x"
                                               << "did you mean --served-model-name?";
    QTest::newRow("unknown, far") << "m --xyzzy"
                                  << "unknown flag --xyzzy; --help lists all";
    QTest::newRow("no model") << "--port 1"
                              << "no model";
    QTest::newRow("two models") << "a b"
                                << "unexpected argument 'b'";
    QTest::newRow("no value") << "m --port"
                              << "--port needs a value";
    QTest::newRow("no value before a flag") << "m --port --seed 1"
                                            << "--port needs a value";
    QTest::newRow("not a number") << "m --port x"
                                  << "--port: 'x' is not an integer";
    QTest::newRow("too large") << "m --port 70000"
                               << "--port: '70000' is too large (at most 65535)";
    QTest::newRow("zero") << "m -tp 0"
                          << "--tensor-parallel-size: '0' is too small";
    QTest::newRow("a choice") << "m --dtype int4"
                              << "invalid choice: 'int4' (choose from auto, half";
    QTest::newRow("a switch with a value") << "m --enable-prefix-caching=maybe"
                                           << "takes true or false, not 'maybe'";
    QTest::newRow("budget under seqs")
        << "m --max-num-seqs 64 --max-num-batched-tokens 32"
        << "max_num_batched_tokens (32) must be greater than or equal to max_num_seqs (64).";
    QTest::newRow("tools without parser") << "m --enable-auto-tool-choice"
                                          << "requires --tool-call-parser";
    QTest::newRow("template that is not there") << "m --chat-template /no/such.jinja"
                                                << "looks like a file path";
    QTest::newRow("worker without port") << "m --rpc-worker host"
                                         << "'host' is not HOST:PORT";
    QTest::newRow("stages and workers") << "m -pp 4 --rpc-worker 127.0.0.1:1"
                                        << "must be 1 (all layers on workers) or 2";
    QTest::newRow("config that is not there") << "m --config /no/such.yaml"
                                              << "cannot read '/no/such.yaml'";
}

void CommandLineTest::mistakesAreNamed()
{
    QFETCH(QString, line);
    QFETCH(QString, message);
    const auto o = serve(line);
    QVERIFY(!o.has_value());
    QVERIFY2(QString::fromStdString(o.error().message).contains(message), o.error().message.c_str());
}

void CommandLineTest::flagsThatMeanNothingAreTakenWithAWarning()
{
    const auto o = serve(
        QStringLiteral("--trust-remote-code --gpu-memory-utilization 0.9 --swap-space=4 --enforce-eager "
                       "--compilation-config.level 3 -O 3 --no-enable-chunked-prefill m.gguf "
                       "--max-num-seqs 256 --max-num-batched-tokens 2048"));
    QVERIFY2(o.has_value(), o ? "" : o.error().message.c_str());
    QCOMPARE(o->model, std::string("m.gguf"));
    QCOMPARE(o->warnings.size(), std::size_t{8});
    QCOMPARE(o->warnings[0], std::string("--trust-remote-code means nothing here and is ignored"));
    QCOMPARE(o->runner.maxNumSeqs, 128);
}

void CommandLineTest::humanIntegers_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<qlonglong>("value");
    QTest::newRow("plain") << "4096" << 4096LL;
    QTest::newRow("k") << "1k" << 1000LL;
    QTest::newRow("K") << "1K" << 1024LL;
    QTest::newRow("fraction") << "25.6k" << 25600LL;
    QTest::newRow("m") << "2m" << 2'000'000LL;
    QTest::newRow("binary fraction") << "1.5K" << -1LL;
    QTest::newRow("letter only") << "k" << -1LL;
    QTest::newRow("two letters") << "1kk" << -1LL;
    QTest::newRow("exponent") << "1e3" << -1LL;
    QTest::newRow("over all bounds") << "99999999999999t" << -1LL;
    QTest::newRow("empty") << "" << -1LL;
}

void CommandLineTest::humanIntegers()
{
    QFETCH(QString, text);
    QFETCH(qlonglong, value);
    QCOMPARE(static_cast<qlonglong>(parseHumanInteger(text.toStdString(), 0).value_or(-1)), value);
}

void CommandLineTest::aConfigFileGivesFlagsAndTheCommandLineWins()
{
    QTemporaryDir directory;
    const QString path
        = written(directory, "serve.yaml",
                  "model: other.gguf\nport: 9000\nserved_model_name: [x, y]\nmax-model-len: 1K\n"
                  "enable-prefix-caching: false\ntrust-remote-code: true\n");
    const auto o = serve(QStringLiteral("m.gguf --config %1 --port 9001 --served-model-name z").arg(path));
    QVERIFY2(o.has_value(), o ? "" : o.error().message.c_str());
    QCOMPARE(o->model, std::string("m.gguf"));
    QCOMPARE(o->server.port, std::uint16_t{9001});
    QCOMPARE(o->server.servedModelNames, (Words{"z"}));
    QCOMPARE(o->runner.maxModelLen, 1024);
    QCOMPARE(o->runner.prefixCaching, false);
    const QString bad = written(directory, "bad.yaml", "a: [1\n");
    QVERIFY(!serve(QStringLiteral("m --config=%1").arg(bad)).has_value());
    const QString list = written(directory, "list.yaml", "- 1\n");
    QVERIFY(!serve(QStringLiteral("m --config=%1").arg(list)).has_value());
}

void CommandLineTest::aTemplateIsAFileOrText()
{
    QTemporaryDir directory;
    const QString path = written(directory, "t.jinja", "{{ x }}\n");
    QCOMPARE(serve(QStringLiteral("m --chat-template ") + path)->runner.chatTemplate,
             std::string("{{ x }}\n"));
    QCOMPARE(readChatTemplate("{{ y }}").value(), std::string("{{ y }}"));
}

void CommandLineTest::theEnvironmentCounts()
{
    const auto environment = [](const std::string &name) -> std::optional<std::string> {
        if (name == "VLLM_API_KEY")
            return "secret";
        if (name == "VLLM_ENGINE_ITERATION_TIMEOUT_S")
            return "7";
        if (name == "VLLM_LOGGING_LEVEL")
            return "DEBUG";
        return std::nullopt;
    };
    const auto o = parseServe({"m"}, environment);
    QCOMPARE(o->server.apiKeys, (Words{"secret"}));
    QCOMPARE(o->stepDeadline, std::chrono::milliseconds(7000));
    QCOMPARE(o->logLevel, std::string("debug"));
    QCOMPARE(parseServe({"m", "--api-key", "k"}, environment)->server.apiKeys, (Words{"k"}));
    const auto several = [](const std::string &name) -> std::optional<std::string> {
        return name == "SLIPWAY_API_KEYS" ? std::optional<std::string>("one\ntwo\n") : std::nullopt;
    };
    QCOMPARE(parseServe({"m"}, several)->server.apiKeys, (Words{"one", "two"}));
}

void CommandLineTest::aWorkerOutsideLoopbackNeedsAToken()
{
    QTemporaryDir directory;
    const QString token = written(directory, "token", "  abc \n");
    QVERIFY(!parseWorker({"--listen", "0.0.0.0:5000"}, nothing).has_value());
    const auto o = parseWorker({"--listen", "0.0.0.0:5000", "--token-file", token.toStdString()}, nothing);
    QVERIFY2(o.has_value(), o ? "" : o.error().message.c_str());
    QCOMPARE(o->token, std::string("abc"));
    QCOMPARE(parseWorker({}, nothing)->listen.host, std::string("127.0.0.1"));
    QVERIFY(!parseWorker({"extra"}, nothing).has_value());
    const QString empty = written(directory, "empty", "\n");
    QVERIFY(!parseWorker({"--token-file", empty.toStdString()}, nothing).has_value());
}

void CommandLineTest::modelsAreCheckedInVllmsWords_data()
{
    QTest::addColumn<QString>("flags");
    QTest::addColumn<QString>("message"); // empty: allowed
    QTest::newRow("heads")
        << "-tp 4"
        << "Total number of attention heads (9) must be divisible by tensor parallel size (4).";
    QTest::newRow("three of nine") << "-tp 3"
                                   << "";
    QTest::newRow("stages")
        << "-pp 31"
        << "Pipeline parallel size (31) must not be larger than the number of layers (30).";
    QTest::newRow("as many stages as layers") << "-pp 30"
                                              << "";
    QTest::newRow("context") << "--max-model-len 9000"
                             << "User-specified max_model_len (9000) is greater than the derived "
                                "max_model_len (context_length=8192";
    QTest::newRow("all of the context") << "--max-model-len 8K"
                                        << "";
}

void CommandLineTest::modelsAreCheckedInVllmsWords()
{
    QFETCH(QString, flags);
    QFETCH(QString, message);
    GgufFacts facts;
    facts.heads = 9;
    facts.kvHeads = 3;
    facts.layers = 30;
    facts.contextLength = 8192;
    facts.feedForwardSize = 1536;
    const auto status = checkAgainstModel(serve(QStringLiteral("m ") + flags).value(), facts);
    QCOMPARE(status.has_value(), message.isEmpty());
    if (!status)
        QVERIFY2(QString::fromStdString(status.error().message).startsWith(message),
                 status.error().message.c_str());
}

void CommandLineTest::unevenLayersAreSplitAsVllmDoes()
{
    QCOMPARE(stageLayers(61, 2), (std::vector<int>{31, 30}));
    QCOMPARE(stageLayers(30, 4), (std::vector<int>{7, 8, 8, 7}));
    QCOMPARE(stageLayers(5, 1), (std::vector<int>{5}));
}

QTEST_APPLESS_MAIN(CommandLineTest)
#include "tst_commandline.moc"
