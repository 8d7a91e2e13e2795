#include "cluster/local/controlplane/control_plane_config.h"
#include "cluster/local/controlplane/control_plane_folder.h"
#include "cluster/local/controlplane/control_plane_programs.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace cluster::local;
using cluster::ErrorCode;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool has(const ProgramLine &line, const std::string &argument)
{
    return std::find(line.arguments.begin(), line.arguments.end(), argument) != line.arguments.end();
}

ControlPlaneOptions optionsIn(const QTemporaryDir &temporary)
{
    ControlPlaneOptions options;
    options.name = "demo";
    options.dir = fs::path(temporary.path().toStdString()) / "demo";
    return options;
}

void makeProgram(const fs::path &file)
{
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, fs::perms::owner_all);
}

} // namespace

class TestControlPlaneConfig : public QObject
{
    Q_OBJECT

private slots:
    void nothingListensButTheApiServerOnLoopback()
    {
        ControlPlaneOptions options;
        const auto apiServer = apiServerLine(options, 40123);
        QVERIFY(has(apiServer, "--bind-address=127.0.0.1"));
        QVERIFY(has(apiServer, "--secure-port=40123"));
        QVERIFY(has(controllerManagerLine(), "--secure-port=0"));
        QVERIFY(has(schedulerLine(), "--secure-port=0"));
        QVERIFY(has(rayOperatorLine(), "--metrics-addr=0"));
        QVERIFY(has(rayOperatorLine(), "--health-probe-bind-address=0"));
        for (const std::string &argument : etcdLine().arguments) {
            if (argument.find("urls=") != std::string::npos)
                QVERIFY2(argument.find("=unix://") != std::string::npos, argument.c_str());
        }
    }

    void etcdWaitsForTheDisk()
    {
        for (const std::string &argument : etcdLine().arguments)
            QVERIFY2(!argument.starts_with("--unsafe"), argument.c_str());
    }

    void theRangeOfServicesAndTheAddressAreTheClusters()
    {
        ControlPlaneOptions options;
        options.serviceRange = "10.207.0.0/16";
        options.advertiseAddress = "10.133.0.2";
        const auto line = apiServerLine(options, 1);
        QVERIFY(has(line, "--service-cluster-ip-range=10.207.0.0/16"));
        QVERIFY(has(line, "--advertise-address=10.133.0.2"));
        QCOMPARE(firstServiceAddress(options.serviceRange).value(), std::string("10.207.0.1"));
        QVERIFY(!firstServiceAddress("10.207.0.0"));
        QVERIFY(!firstServiceAddress("ten/16"));
    }

    void noSecretIsOnACommandLine()
    {
        ControlPlaneOptions options;
        options.tokens = {{"planted-secret", "someone", {"system:masters"}}};
        for (const std::string &argument : apiServerLine(options, 1).arguments)
            QVERIFY(argument.find("planted-secret") == std::string::npos);
    }

    void tokensAreWrittenAsTheApiServerReadsThem()
    {
        const auto text = tokenFileText({{"abc", "anna", {"system:masters", "team"}}, {"def", "bob", {}}});
        QVERIFY(text);
        QCOMPARE(*text, std::string("abc,anna,local-1,\"system:masters,team\"\ndef,bob,local-2,\"\"\n"));
    }

    void aTokenThatWouldAddALineIsRefused()
    {
        QCOMPARE(tokenFileText({{"a\nb,root,1,system:masters", "anna", {}}}).error().code,
                 ErrorCode::InvalidArgument);
        QVERIFY(!tokenFileText({{"abc", "an\"na", {}}}));
        QVERIFY(!tokenFileText({{"abc", "anna", {"x,y"}}}));
        QVERIFY(!tokenFileText({{"", "anna", {}}}));
    }

    void whatIsBoundForTheClusterGoesThroughTheProxy()
    {
        const auto config = json::parse(egressSelectorText("/run/egress.sock"));
        QCOMPARE(config["kind"].get<std::string>(), std::string("EgressSelectorConfiguration"));
        const auto &cluster = config["egressSelections"].at(0);
        QCOMPARE(cluster["name"].get<std::string>(), std::string("cluster"));
        QCOMPARE(cluster["connection"]["proxyProtocol"].get<std::string>(), std::string("HTTPConnect"));
        QCOMPARE(cluster["connection"]["transport"]["uds"]["udsName"].get<std::string>(),
                 std::string("/run/egress.sock"));
        for (const auto &selection : json::parse(egressSelectorText({}))["egressSelections"])
            QVERIFY(selection["name"] != "cluster");
    }

    void tokenPortAndAuthorityStayOverPreparations()
    {
        const QTemporaryDir temporary;
        const auto options = optionsIn(temporary);
        const auto now = std::chrono::system_clock::now();
        const auto first = prepareFolder(options, now);
        const auto second = prepareFolder(options, now + std::chrono::hours{24});
        QVERIFY2(first && second, first ? "" : first.error().message.c_str());
        QCOMPARE(second->port, first->port);
        QCOMPARE(second->adminToken, first->adminToken);
        QCOMPARE(second->caPem, first->caPem);
        QVERIFY(first->adminToken.size() >= 32);
        for (const char *file : {"tokens.csv", "admin.token", "egress.yaml", "scheduler.kubeconfig"})
            QCOMPARE(static_cast<unsigned>(fs::status(options.dir / file).permissions()), 0600U);
    }

    void twoFoldersHaveDifferentTokensAndPorts()
    {
        const QTemporaryDir one;
        const QTemporaryDir two;
        const auto now = std::chrono::system_clock::now();
        const auto first = prepareFolder(optionsIn(one), now);
        const auto second = prepareFolder(optionsIn(two), now);
        QVERIFY(first && second);
        QVERIFY(first->adminToken != second->adminToken);
    }

    void aFolderIsRunByOneAtATime()
    {
        const QTemporaryDir temporary;
        const fs::path dir = temporary.path().toStdString();
        {
            const auto held = FolderLock::take(dir);
            QVERIFY(held);
            const auto refused = FolderLock::take(dir);
            QVERIFY(!refused);
            QCOMPARE(refused.error().code, ErrorCode::FailedPrecondition);
        }
        QVERIFY(FolderLock::take(dir));
    }

    void theFirstFolderWithAllProgramsIsTaken()
    {
        const QTemporaryDir temporary;
        const fs::path root = temporary.path().toStdString();
        for (const std::string &name : controlPlaneProgramNames(true, true))
            makeProgram(root / "full" / name);
        makeProgram(root / "partial" / "etcd");
        makeProgram(root / "partial" / "kube-apiserver");
        QCOMPARE(findControlPlanePrograms({root / "partial", root / "full"}).value(), root / "full");
        QCOMPARE(findControlPlanePrograms({root / "partial", root / "full"}, false).value(),
                 root / "partial");
    }

    void whatIsMissingIsNamedWithTheCommandForIt()
    {
        const QTemporaryDir temporary;
        const fs::path root = temporary.path().toStdString();
        makeProgram(root / "etcd");
        makeProgram(root / "kube-apiserver");
        const auto found = findControlPlanePrograms({root}, true, false);
        QVERIFY(!found);
        QCOMPARE(found.error().code, ErrorCode::FailedPrecondition);
        const QString text = QString::fromStdString(found.error().message);
        QVERIFY2(text.contains("kube-controller-manager, kube-scheduler."), qPrintable(text));
        QVERIFY2(!text.contains("etcd"), qPrintable(text));
        QVERIFY2(text.contains("./dev setup"), qPrintable(text));
    }
};

QTEST_GUILESS_MAIN(TestControlPlaneConfig)
#include "tst_control_plane_config.moc"
