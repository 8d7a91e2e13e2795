#include "cluster/observe/metric_history.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cluster;
using std::chrono::milliseconds;

namespace {

SampleTime at(std::int64_t seconds)
{
    return SampleTime{std::chrono::seconds(1796000000 + seconds)};
}

HistoryRow row(const std::string &endpoint, std::int64_t seconds, double value)
{
    return {endpoint, ChartMetric::RequestsRunning, {at(seconds), value, value, value, 1}};
}

HistoryQuery everything(const std::string &endpoint)
{
    return {endpoint,       ChartMetric::RequestsRunning, at(-100000), at(10000000), milliseconds(0),
            milliseconds(0)};
}

/// Batches of ten rows until the process is killed; tells the other end after each.
[[noreturn]] void writeForEver(const std::string &path, int told)
{
    auto history = MetricHistory::open(path);
    for (std::int64_t i = 0; history; i += 10) {
        std::vector<HistoryRow> rows;
        for (std::int64_t k = 0; k < 10; ++k)
            rows.push_back(row("a", i + k, 1));
        if (!history->write(rows) || write(told, "x", 1) != 1)
            break;
    }
    _exit(1);
}

} // namespace

class TestMetricHistory : public QObject
{
    Q_OBJECT
private slots:
    void init();
    void whatIsWrittenIsReadAfterReopening();
    void gapsAndOpenEndsSurvive();
    void endpointsAreSeparate();
    void stepsSummarise();
    void silenceIsAGap();
    void retentionForgetsTheOld();
    void oldRowsAreThinnedOut();
    void aKilledWriterLeavesWholeBatches();
    void aDamagedFileIsAnError_data();
    void aDamagedFileIsAnError();
    void aLockedFileIsAnErrorAndPassesBy();
    void aFullDiskIsAnErrorAndPassesBy();
    void afterAFailedBatchTheNextOneIsComplete();
    void aNewerLayoutIsRefused();
    void aFolderInTheWayIsAnError();
    void twoProgramsMayUseOneFile();

private:
    [[nodiscard]] std::string path() const { return m_folder->filePath("sub/history.sqlite").toStdString(); }
    std::unique_ptr<QTemporaryDir> m_folder;
};

void TestMetricHistory::init()
{
    m_folder = std::make_unique<QTemporaryDir>();
}

void TestMetricHistory::whatIsWrittenIsReadAfterReopening()
{
    {
        auto history = MetricHistory::open(path());
        QVERIFY2(history, history ? "" : history.error().message.c_str());
        QVERIFY(history->write({row("a", 0, 1), row("a", 2, 2.5)}));
        QVERIFY(history->write({}));
        QVERIFY(history->write({row("a", 2, 3)})); // the same moment again: the newer value stays
    }
    const auto history = MetricHistory::open(path());
    const auto points = history->read(everything("a"));
    QVERIFY(points);
    QCOMPARE(points->size(), 2u);
    QCOMPARE((*points)[0].time, at(0));
    QCOMPARE((*points)[1].value, 3.0);
    QVERIFY(history->read(everything("unknown"))->empty());
}

void TestMetricHistory::gapsAndOpenEndsSurvive()
{
    auto history = MetricHistory::open(path());
    ChartValues values;
    values[static_cast<std::size_t>(ChartMetric::TtftP95)] = ChartPoint{at(0), 2560, 2560, INFINITY, 1};
    QCOMPARE(historyRows("a", values).size(), 1u);
    QVERIFY(history->write(historyRows("a", values)));
    QVERIFY(history->write(historyGaps("a", at(2))));
    QVERIFY(history->write(historyGaps("a", at(4))));
    HistoryQuery query = everything("a");
    query.metric = ChartMetric::TtftP95;
    const auto points = history->read(query);
    QCOMPARE(points->size(), 2u);
    QVERIFY(std::isinf((*points)[0].high));
    QVERIFY((*points)[1].isGap());
    query.metric = ChartMetric::KvUse;
    QVERIFY(history->read(query)->empty());
}

void TestMetricHistory::endpointsAreSeparate()
{
    auto history = MetricHistory::open(path());
    QVERIFY(history->write({row("http://b", 0, 1), row("it's \"quoted\"", 0, 2)}));
    QCOMPARE(*history->endpoints(), (std::vector<std::string>{"http://b", "it's \"quoted\""}));
    QCOMPARE(history->read(everything("it's \"quoted\""))->at(0).value, 2.0);
}

void TestMetricHistory::stepsSummarise()
{
    auto history = MetricHistory::open(path());
    std::vector<HistoryRow> rows;
    for (int i = 0; i < 100; ++i)
        rows.push_back(row("a", i, i));
    QVERIFY(history->write(rows));
    HistoryQuery query = everything("a");
    query.step = milliseconds(10000);
    const auto points = history->read(query);
    QCOMPARE(points->size(), 10u);
    QCOMPARE((*points)[0].value, 4.5);
    QCOMPARE((*points)[0].low, 0.0);
    QCOMPARE((*points)[0].high, 9.0);
    QCOMPARE((*points)[0].weight, 10);
    query.from = at(20);
    query.to = at(29);
    QCOMPARE(history->read(query)->size(), 1u);
}

void TestMetricHistory::silenceIsAGap()
{
    auto history = MetricHistory::open(path());
    QVERIFY(history->write({row("a", 0, 1), row("a", 2, 1), row("a", 500, 1)}));
    HistoryQuery query = everything("a");
    query.gapAfter = milliseconds(30000);
    const auto points = history->read(query);
    QCOMPARE(points->size(), 4u);
    QVERIFY((*points)[2].isGap());
    query.step = std::chrono::minutes(10); // so coarse that the silence is within a step
    QVERIFY(!history->read(query)->back().isGap());
}

void TestMetricHistory::retentionForgetsTheOld()
{
    auto history = MetricHistory::open(path());
    QVERIFY(history->write({row("a", 0, 1), row("a", 100, 2), row("b", 0, 1)}));
    QVERIFY(history->forgetBefore(at(50)));
    QCOMPARE(history->read(everything("a"))->size(), 1u);
    QCOMPARE(*history->endpoints(), std::vector<std::string>{"a"});
    QVERIFY(history->write({row("b", 60, 1)}));
    QCOMPARE(history->read(everything("b"))->size(), 1u);
}

void TestMetricHistory::oldRowsAreThinnedOut()
{
    auto history = MetricHistory::open(path());
    std::vector<HistoryRow> rows;
    for (int i = 0; i < 600; i += 2)
        rows.push_back(i >= 100 && i < 220
                           ? HistoryRow{"a", ChartMetric::RequestsRunning, ChartPoint::gap(at(i))}
                           : row("a", i, i));
    rows.push_back(row("b", 0, 7));
    QVERIFY(history->write(rows));
    const SampleTime limit = at(330); // within a step: that one stays as it is
    HistoryQuery query = everything("a");
    query.gapAfter = milliseconds(30000);
    QVERIFY(history->thinOutBefore(limit, std::chrono::minutes(1)));
    const auto points = *history->read(query);
    QVERIFY(points.size() < 170);
    double weight = 0;
    double sum = 0;
    int gaps = 0;
    for (const ChartPoint &point : points) {
        gaps += point.isGap() ? 1 : 0;
        weight += point.isGap() ? 0 : point.weight;
        sum += point.isGap() ? 0 : point.value * point.weight;
    }
    QCOMPARE(weight, 240.0);
    QCOMPARE(sum, 300. * 299 - 60. * 159); // of 0, 2, … 598 without 100 … 218
    QCOMPARE(gaps, 1); // where there was one; the coarser rows are no silence
    QVERIFY(history->thinOutBefore(limit, std::chrono::minutes(1)));
    QCOMPARE(history->read(query)->size(), points.size());
    QCOMPARE(history->read(everything("b"))->at(0).value, 7.0);
    QVERIFY(history->write({row("a", 1000, 1)}));
}

void TestMetricHistory::aKilledWriterLeavesWholeBatches()
{
    int ends[2];
    QCOMPARE(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0)
        writeForEver(path(), ends[1]);
    close(ends[1]);
    char told[20];
    ssize_t batches = 0;
    while (batches < 20) { // so many are known to be committed
        const ssize_t got = read(ends[0], told, sizeof told);
        QVERIFY(got > 0);
        batches += got;
    }
    kill(child, SIGKILL);
    int status = 0;
    QCOMPARE(waitpid(child, &status, 0), child);
    QVERIFY(WIFSIGNALED(status));
    close(ends[0]);

    auto history = MetricHistory::open(path());
    QVERIFY2(history, history ? "" : history.error().message.c_str());
    const auto points = history->read(everything("a"));
    QVERIFY(points);
    QVERIFY(static_cast<ssize_t>(points->size()) >= batches * 10);
    QCOMPARE(points->size() % 10, 0u);
    QVERIFY(history->write({row("a", 9999999, 1)}));
}

void TestMetricHistory::aDamagedFileIsAnError_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("no database") << QByteArray(8192, 'x');
    QTest::newRow("header only") << QByteArray("SQLite format 3\0", 16) + QByteArray(4000, '\xff');
}

void TestMetricHistory::aDamagedFileIsAnError()
{
    QFETCH(QByteArray, content);
    QVERIFY(QDir(m_folder->path()).mkpath("sub"));
    QFile file(QString::fromStdString(path()));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
    file.close();
    const auto history = MetricHistory::open(path());
    QVERIFY(!history);
    QCOMPARE(history.error().code, ErrorCode::DataLoss);
    QVERIFY(QString::fromStdString(history.error().message).contains("history.sqlite"));
    QVERIFY(QString::fromStdString(history.error().message).contains("move it away"));
    QCOMPARE(QFile(QString::fromStdString(path())).size(), content.size()); // nothing was overwritten
}

void TestMetricHistory::aLockedFileIsAnErrorAndPassesBy()
{
    auto history = MetricHistory::open(path());
    QVERIFY(history->write({row("a", 0, 1)}));
    sqlite3 *other = nullptr;
    QCOMPARE(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const Status refused = history->write({row("a", 2, 1)});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::Unavailable);
    QCOMPARE(history->read(everything("a"))->size(), 1u); // readers go on
    QCOMPARE(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    QVERIFY(history->write({row("a", 2, 1)}));
    QCOMPARE(history->read(everything("a"))->size(), 2u);
}

void TestMetricHistory::aFullDiskIsAnErrorAndPassesBy()
{
    auto history = MetricHistory::open(path());
    QVERIFY(history->write({row("a", 0, 1)}));
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = 64 * 1024; // no file may grow beyond this: the nearest thing to a full disk without root
    setrlimit(RLIMIT_FSIZE, &small);
    Status done;
    for (int batch = 0; batch < 200 && done; ++batch) {
        std::vector<HistoryRow> rows;
        for (int i = 0; i < 200; ++i)
            rows.push_back(row("a", 1 + batch * 200 + i, i));
        done = history->write(rows);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    QVERIFY(!done);
    QVERIFY2(done.error().code == ErrorCode::ResourceExhausted, done.error().message.c_str());
    QVERIFY(done.error().message.find("disk is full") != std::string::npos);
    const auto count = history->read(everything("a"))->size();
    QCOMPARE(count % 200, 1u); // no half batch
    QVERIFY(history->write({row("a", 9999999, 1)}));
    QCOMPARE(history->read(everything("a"))->size(), count + 1);
}

void TestMetricHistory::afterAFailedBatchTheNextOneIsComplete()
{
    auto history = MetricHistory::open(path());
    sqlite3 *other = nullptr;
    QCOMPARE(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other,
                          "CREATE TRIGGER no BEFORE INSERT ON sample BEGIN SELECT RAISE(ABORT, 'no'); END",
                          nullptr, nullptr, nullptr),
             SQLITE_OK);
    QVERIFY(!history->write({row("new", 0, 1)})); // its series was made within the batch, and undone with it
    QVERIFY(history->endpoints()->empty());
    QCOMPARE(sqlite3_exec(other, "DROP TRIGGER no", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    QVERIFY(history->write({row("new", 0, 1)}));
    QCOMPARE(history->read(everything("new"))->size(), 1u);
}

void TestMetricHistory::aNewerLayoutIsRefused()
{
    QVERIFY(MetricHistory::open(path()));
    sqlite3 *other = nullptr;
    QCOMPARE(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    const auto history = MetricHistory::open(path());
    QVERIFY(!history);
    QCOMPARE(history.error().code, ErrorCode::FailedPrecondition);
}

void TestMetricHistory::aFolderInTheWayIsAnError()
{
    QVERIFY(QDir(m_folder->path()).mkpath("sub/history.sqlite"));
    const auto history = MetricHistory::open(path());
    QVERIFY(!history);
    QCOMPARE(history.error().code, ErrorCode::PermissionDenied);
    const auto beneathAFile = MetricHistory::open("/dev/null/history.sqlite");
    QVERIFY(!beneathAFile);
    QVERIFY(beneathAFile.error().message.find("/dev/null") != std::string::npos);
}

void TestMetricHistory::twoProgramsMayUseOneFile()
{
    auto first = MetricHistory::open(path());
    auto second = MetricHistory::open(path());
    QVERIFY(first && second);
    QVERIFY(first->write({row("a", 0, 1)}));
    QVERIFY(second->write({row("a", 1, 1)}));
    QVERIFY(first->write({row("a", 2, 1)}));
    QCOMPARE(second->read(everything("a"))->size(), 3u);
}

QTEST_APPLESS_MAIN(TestMetricHistory)
#include "tst_metric_history.moc"
