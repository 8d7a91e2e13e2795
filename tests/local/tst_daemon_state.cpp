#include "cluster/local/daemon/daemon_state.h"
#include "cluster/local/daemon/environment.h"
#include "cluster/local/files/whole_files.h"

#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cluster::local;

class DaemonStateTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void foldersAreTheOwnersAlone();
    void aFolderWithTooLongAPathIsRefusedByName();
    void theLockIsHeldByOneAndFreeWhenItsProcessIsKilled();
    void theTokenIsMadeOnceAndIsPrivate();
    void aStateThatCantBeReadCountsAsNone_data();
    void aStateThatCantBeReadCountsAsNone();
    void aFileIsReplacedWholeOrNotAtAll();
    void everyServiceOfGcloudIsSentHere();

private:
    std::unique_ptr<QTemporaryDir> m_dir;
    LocalPaths m_paths;
};

void DaemonStateTest::init()
{
    m_dir = std::make_unique<QTemporaryDir>();
    const auto paths = localPaths(m_dir->filePath("target").toStdString());
    QVERIFY(paths);
    m_paths = *paths;
    QVERIFY(makeFolders(m_paths));
}

void DaemonStateTest::foldersAreTheOwnersAlone()
{
    ::chmod(m_paths.root.c_str(), 0755);
    QVERIFY(makeFolders(m_paths));
    for (const auto &folder : {m_paths.root, m_paths.run(), m_paths.clusters(), m_paths.buckets()}) {
        struct stat status = {};
        QCOMPARE(::stat(folder.c_str(), &status), 0);
        QCOMPARE(status.st_mode & 0777U, 0700U);
    }
}

void DaemonStateTest::aFolderWithTooLongAPathIsRefusedByName()
{
    const auto paths = localPaths("/tmp/" + std::string(90, 'x'));
    QVERIFY(!paths);
    QVERIFY(paths.error().message.find("SLIPWAY_LOCAL_DIR") != std::string::npos);
}

void DaemonStateTest::theLockIsHeldByOneAndFreeWhenItsProcessIsKilled()
{
    QVERIFY(!DaemonLock::isHeld(m_paths));
    int ready[2];
    QCOMPARE(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lock = DaemonLock::take(m_paths);
        const char answer = lock ? '1' : '0';
        if (::write(ready[1], &answer, 1) == 1)
            ::pause();
        ::_exit(1);
    }
    char answer = 0;
    QCOMPARE(::read(ready[0], &answer, 1), 1);
    QCOMPARE(answer, '1');
    QVERIFY(DaemonLock::isHeld(m_paths));
    QCOMPARE(DaemonLock::holder(m_paths), child);
    const auto second = DaemonLock::take(m_paths);
    QVERIFY(!second);
    QCOMPARE(second.error().code, cluster::ErrorCode::AlreadyExists);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    QVERIFY(!DaemonLock::isHeld(m_paths));
    QCOMPARE(DaemonLock::holder(m_paths), 0);
    QVERIFY(DaemonLock::take(m_paths));
    ::close(ready[0]);
    ::close(ready[1]);
}

void DaemonStateTest::theTokenIsMadeOnceAndIsPrivate()
{
    const auto first = tokenOf(m_paths);
    QVERIFY(first);
    QVERIFY(first->size() > 64);
    QCOMPARE(*tokenOf(m_paths), *first);
    QVERIFY(writeWholeFile(m_paths.token(), "broken\x01\xff and more than sixteen bytes"));
    const auto mended = tokenOf(m_paths);
    QVERIFY(mended && mended->starts_with("slipway-local-"));
    QCOMPARE(*tokenOf(m_paths), *mended);
    struct stat status = {};
    QCOMPARE(::stat(m_paths.token().c_str(), &status), 0);
    QCOMPARE(status.st_mode & 0777U, 0600U);
}

void DaemonStateTest::aStateThatCantBeReadCountsAsNone_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("cut off") << QByteArray(R"({"pid": 1, "po)");
    QTest::newRow("another shape") << QByteArray("[1, 2]");
    QTest::newRow("a port that is none") << QByteArray(R"({"pid": 1, "port": "x"})");
}

void DaemonStateTest::aStateThatCantBeReadCountsAsNone()
{
    QFETCH(QByteArray, text);
    QVERIFY(writeWholeFile(m_paths.daemonState(), text.toStdString()));
    QVERIFY(!readDaemonState(m_paths));
    QVERIFY(writeDaemonState(m_paths, {42, 4711, "1.0"}));
    const auto state = readDaemonState(m_paths);
    QVERIFY(state);
    QCOMPARE(state->url(), std::string("https://127.0.0.1:4711"));
}

void DaemonStateTest::aFileIsReplacedWholeOrNotAtAll()
{
    const auto file = m_paths.root / "f";
    QVERIFY(writeWholeFile(file, "old"));
    QVERIFY(!writeWholeFile(m_paths.root / "none" / "f", "new"));
    QVERIFY(writeWholeFile(file, "new"));
    QCOMPARE(*readWholeFile(file), std::string("new"));
    QVERIFY(!readWholeFile(file, 2));
    int files = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(m_paths.root))
        files += entry.is_regular_file() ? 1 : 0;
    QCOMPARE(files, 1);
}

void DaemonStateTest::everyServiceOfGcloudIsSentHere()
{
    const DaemonState state{1, 4711, "1.0"};
    int overrides = 0;
    for (const auto &[name, value] : environmentFor(m_paths, state, "t")) {
        if (!name.starts_with("CLOUDSDK_API_ENDPOINT_OVERRIDES_"))
            continue;
        ++overrides;
        QVERIFY2(value.starts_with("https://127.0.0.1:4711/"), name.c_str());
        QVERIFY2(value.ends_with("/"), name.c_str()); // gcloud refuses it otherwise
    }
    QCOMPARE(overrides, 9);
}

QTEST_APPLESS_MAIN(DaemonStateTest)
#include "tst_daemon_state.moc"
