// Several pods as one engine: what vLLM's multi-node-serving.sh becomes.

#include "cluster/local/nodeagent/engine_command.h"
#include "cluster/local/nodeagent/engine_group.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;

namespace {

std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

EngineCommandInput onAPodOfAGroup(const std::string &script)
{
    EngineCommandInput input;
    input.command = {"sh", "-c", script};
    input.variable = [](const std::string &name) {
        return name == "LWS_LEADER_ADDRESS" ? std::string("vllm-0.vllm.default") : std::string();
    };
    input.address = "127.16.0.2";
    input.program = "/bin/slipway-engine";
    input.modelsFolder = "/models";
    input.standIn = "/models/small.gguf";
    return input;
}

} // namespace

class EngineGroupTest : public QObject
{
    Q_OBJECT

private slots:
    void theLeaderOfAGroupComputesWithItsWorkers()
    {
        const std::string script
            = "bash /vllm-workspace/examples/online_serving/multi-node-serving.sh leader "
              "--ray_cluster_size=3;\n"
              "python3 -m vllm.entrypoints.openai.api_server --port 8080 --model deepseek-ai/DeepSeek-R1 "
              "--tensor-parallel-size 8 --pipeline-parallel-size 2";
        EngineCommandInput input = onAPodOfAGroup(script);
        const std::string alone
            = "/bin/slipway-engine serve /models/small.gguf --host 127.16.0.2 --port 8080 "
              "--served-model-name deepseek-ai/DeepSeek-R1";
        auto made = engineCommand(input);
        QVERIFY(made.has_value());
        QCOMPARE(joined(made->words),
                 alone
                     + " --pipeline-parallel-size 3 --worker-timeout 300 --rpc-worker "
                       "vllm-0-1.vllm.default:6379 vllm-0-2.vllm.default:6379");
        QCOMPARE(made->groupLeader, std::string("vllm-0.vllm.default"));
        input.knowsNames = false; // no /etc/hosts of its own
        made = engineCommand(input);
        QVERIFY(made.has_value());
        QCOMPARE(joined(made->words), alone);
        QCOMPARE(made->groupLeader, std::string());
    }

    void aWorkerOfAGroupListensOnItsPod()
    {
        const auto made = engineCommand(onAPodOfAGroup(
            "bash /x/multi-node-serving.sh worker --ray_address=vllm-0.vllm.default --ray_port=7000"));
        QVERIFY(made.has_value());
        QCOMPARE(joined(made->words), std::string("/bin/slipway-engine worker --listen 127.16.0.2:7000"));
        QCOMPARE(made->groupLeader, std::string("vllm-0.vllm.default"));
        QCOMPARE(made->port, 7000);
    }

    void theScriptOfGroupsRefusesWhatItCannotRead_data()
    {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<QString>("message");
        QTest::newRow("no size") << "leader"
                                 << "Missing argument --ray_cluster_size";
        QTest::newRow("another form") << "leader --ray_cluster_size 2"
                                      << "Missing argument --ray_cluster_size";
        QTest::newRow("no number") << "leader --ray_cluster_size=two"
                                   << "--ray_cluster_size=two";
        QTest::newRow("no address") << "worker"
                                    << "Missing argument --ray_address";
        QTest::newRow("neither") << "follower"
                                 << "unknown subcommand: follower";
        QTest::newRow("nothing") << ""
                                 << "unknown subcommand";
    }

    void theScriptOfGroupsRefusesWhatItCannotRead()
    {
        QFETCH(QString, arguments);
        QFETCH(QString, message);
        const auto made
            = engineCommand(onAPodOfAGroup("bash multi-node-serving.sh " + arguments.toStdString()));
        QVERIFY(!made.has_value());
        QCOMPARE(made.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(QString::fromStdString(made.error().message).contains(message),
                 made.error().message.c_str());
    }

    void aGroupsTokenIsItsOwn()
    {
        const std::string token = groupToken("secret", "default", "vllm-0.vllm.default");
        QCOMPARE(token.size(), std::size_t{64});
        QCOMPARE(groupToken("secret", "default", "vllm-0.vllm.default"), token);
        QVERIFY(groupToken("secret", "default", "vllm-1.vllm.default") != token);
        QVERIFY(groupToken("secret", "other", "vllm-0.vllm.default") != token);
        QVERIFY(groupToken("another", "default", "vllm-0.vllm.default") != token);
    }
};

QTEST_GUILESS_MAIN(EngineGroupTest)
#include "tst_engine_group.moc"
