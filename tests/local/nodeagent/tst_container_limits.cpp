// Names of images and the table that they are looked up in; limits with and without cgroups; addresses.

#include "cluster/local/nodeagent/container_limits.h"
#include "cluster/local/nodeagent/image_name.h"
#include "cluster/local/nodeagent/image_table.h"
#include "cluster/local/nodeagent/pod_addresses.h"

#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <set>
#include <sstream>

using namespace cluster::local;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void write(const fs::path &path, const std::string &text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

} // namespace

class TestContainerLimits : public QObject
{
    Q_OBJECT

private slots:
    void imageNamesAreThoseOfTheReferenceLibrary_data()
    {
        QTest::addColumn<QString>("image");
        QTest::addColumn<QString>("error");
        const std::string hex(64, 'a');
        int count = 0;
        const QString wrong = "invalid reference format";
        for (const std::string &fine :
             {std::string("busybox"), std::string("busybox:1.36"), std::string("vllm/vllm-openai:v0.8.5"),
              std::string("localhost:5000/a/b_c__d.e--f:T_ag.1"), std::string("Registry.Example.com/x"),
              "gcr.io/p/i@sha256:" + hex, "i:tag@sha256:" + hex, std::string("us-docker.pkg.dev/p/r/i")})
            QTest::newRow(fine.c_str()) << QString::fromStdString(fine) << QString();
        for (const std::string &bad :
             {std::string(), std::string("a b"), std::string("a:"), std::string("a:b:c"), std::string("/a"),
              std::string("a/"), std::string("a//b"), std::string("-a"), std::string("a_"),
              std::string("a..b"), std::string("a___b"), std::string("a@sha256:12"), std::string("a:-tag"),
              "a:" + std::string(129, 't'), std::string("host:port/a"), std::string("ä"), std::string("a\nb"),
              std::string("a@"), std::string(100000, '/')})
            QTest::addRow("wrong %d", ++count) << QString::fromStdString(bad) << wrong;
        QTest::newRow("upper") << "Nginx" << wrong + ": repository name (library/Nginx) must be lowercase";
        QTest::newRow("upper of two")
            << "docker.io/My/image:1" << wrong + ": repository name (My/image) must be lowercase";
        QTest::newRow("an id") << QString::fromStdString(hex)
                               << "invalid repository name (" + QString::fromStdString(hex)
                + "), cannot specify 64-byte hexadecimal strings";
        QTest::newRow("long") << QString(300, 'a') << "repository name must not be more than 255 characters";
    }

    void imageNamesAreThoseOfTheReferenceLibrary()
    {
        QFETCH(QString, image);
        QFETCH(QString, error);
        QCOMPARE(QString::fromStdString(imageNameError(image.toStdString())), error);
    }

    void aBrokenTableNamesItsLine()
    {
        const auto table = ImageTable::parse("rules:\n  - image: a\n    runtime: magic\n", {true, false});
        QVERIFY(!table);
        QVERIFY2(table.error().message.find("line 2") != std::string::npos, table.error().message.c_str());
        QVERIFY(!ImageTable::parse("rules: [", {true, false}));
        QVERIFY(!ImageTable::parse("{}", {true, false}));
    }

    void repositoriesAreFoundInImageNames()
    {
        QCOMPARE(imageRepository("docker.io/library/busybox:1.36@sha256:00"), std::string("busybox"));
        QCOMPARE(imageRepository("localhost:5000/a/b"), std::string("localhost:5000/a/b"));
        QCOMPARE(imageRepository("vllm/vllm-openai:v0.8.5"), std::string("vllm/vllm-openai"));
    }

    void limitsAreWrittenAsTheKernelReadsThem()
    {
        QTemporaryDir folder;
        const fs::path root = folder.path().toStdString();
        // As systemd delegates it: the user's group above this process's has the controllers.
        write(root / "cgroup.controllers", "cpuset cpu io memory pids\n");
        const fs::path slice = root / "user.slice/app.slice";
        write(slice / "cgroup.subtree_control", "cpu memory pids\n");
        write(slice / "slipway-7/cgroup.subtree_control", "cpu memory\n");
        const auto tree = CgroupTree::find(root, "0::/user.slice/app.slice\n", "7");
        QVERIFY(tree);
        ContainerSpec container;
        container.memoryLimit = 64 << 20;
        container.cpuLimit = 1.5;
        container.cpuRequest = 1;
        const auto group = tree->make("pod-main", container);
        QVERIFY(group);
        QCOMPARE(*group, slice / "slipway-7/pod-main");
        QCOMPARE(read(*group / "memory.max"), std::string("67108864"));
        QCOMPARE(read(*group / "memory.oom.group"), std::string("1"));
        QCOMPARE(read(*group / "cpu.max"), std::string("150000 100000"));
        QCOMPARE(read(*group / "cpu.weight"), std::string("39")); // as Kubernetes converts 1024 shares
        QVERIFY(!CgroupTree::wasOutOfMemory(*group));
        write(*group / "memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
        QVERIFY(!CgroupTree::wasOutOfMemory(*group));
        write(*group / "memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 1\n");
        QVERIFY(CgroupTree::wasOutOfMemory(*group));
        const auto free = tree->make("pod-free", {});
        QVERIFY(free && !fs::exists(*free / "memory.max") && !fs::exists(*free / "cpu.max"));
        CgroupTree::remove(*free);
        QVERIFY(!fs::exists(*free));
    }

    void withoutControllersThereAreNoGroups()
    {
        QTemporaryDir folder;
        const fs::path root = folder.path().toStdString();
        QVERIFY(!CgroupTree::find(root, "0::/\n", "7")); // version 1
        write(root / "cgroup.controllers", "cpu memory\n");
        write(root / "a/cgroup.subtree_control", "pids\n");
        write(root / "cgroup.subtree_control", "pids\n");
        // Plain files take any text, the kernel's would not show it again.
        QVERIFY(!CgroupTree::find(root, "1:name=systemd:/x\n0::/a\n", "7"));
        QVERIFY(!CgroupTree::find(root, "", "7"));
    }

    void withoutGroupsALimitIsANumberOfProcessors()
    {
        const std::vector<int> machine{0, 1, 2, 5};
        QCOMPARE(allowedProcessors(0.5, machine, 0), std::vector<int>{0});
        QCOMPARE(allowedProcessors(1.5, machine, 3), (std::vector<int>{0, 5}));
        QCOMPARE(allowedProcessors(0, machine, 1), std::vector<int>{});
        QCOMPARE(allowedProcessors(4, machine, 1), std::vector<int>{});
        QCOMPARE(allowedProcessors(64, machine, 1), std::vector<int>{});
        PodSpec pod;
        pod.containers.resize(2);
        QCOMPARE(limitsText(pod, false), std::string());
        pod.containers[1].memoryLimit = 1;
        QVERIFY(limitsText(pod, false).starts_with("memory: watched"));
        QCOMPARE(limitsText(pod, true), std::string("memory: cgroup; ephemeral-storage: not enforced"));
    }

    void addressesAreGivenOnceAndBack()
    {
        auto range = PodAddresses::inRange("10.16.0.0/29");
        QVERIFY(range.has_value());
        QVERIFY(range->claim("10.16.0.3"));
        std::set<std::string> given;
        while (const auto address = range->take())
            given.insert(*address);
        QCOMPARE(given, (std::set<std::string>{"10.16.0.2", "10.16.0.4", "10.16.0.5", "10.16.0.6"}));
        range->giveBack("10.16.0.3");
        QCOMPARE(*range->take(), std::string("10.16.0.3"));
        QVERIFY(!range->claim("10.17.0.3"));
        QVERIFY(!PodAddresses::inRange("pods"));
    }
};

QTEST_APPLESS_MAIN(TestContainerLimits)
#include "tst_container_limits.moc"
