#include "models/bridge/job_runner.h"

#include <QTest>
#include <QThread>
#include <memory>
#include <semaphore>

using models::Job;
using models::JobContext;
using models::JobRunner;
using models::LatestJob;

class JobRunnerTest : public QObject
{
    Q_OBJECT

private slots:
    void workRunsElsewhereAndTheResultComesHere();
    void aMoveOnlyResultIsDelivered();
    void nothingIsDeliveredToAReceiverThatIsGone();
    void aCancelledJobIsToldToStopAndDeliversNothing();
    void theLatestJobWins();
    void postedProgressComesInOrderAndBeforeTheResult();
    void theRunnersEndStopsWhatStillRuns();
};

void JobRunnerTest::workRunsElsewhereAndTheResultComesHere()
{
    JobRunner jobs;
    QThread *worker = nullptr;
    QThread *receiving = nullptr;
    const Job job = jobs.run(
        this, [](const JobContext &) { return QThread::currentThread(); },
        [&](QThread *from) {
            worker = from;
            receiving = QThread::currentThread();
        });
    QTRY_VERIFY(worker != nullptr);
    QVERIFY(worker != thread());
    QCOMPARE(receiving, thread());
    QVERIFY(!job.isActive());
}

void JobRunnerTest::aMoveOnlyResultIsDelivered()
{
    JobRunner jobs;
    std::unique_ptr<int> result;
    jobs.run(
        this, [](const JobContext &) { return std::make_unique<int>(42); },
        [&](std::unique_ptr<int> got) { result = std::move(got); });
    QTRY_VERIFY(result != nullptr);
    QCOMPARE(*result, 42);
}

void JobRunnerTest::nothingIsDeliveredToAReceiverThatIsGone()
{
    JobRunner jobs;
    std::binary_semaphore go(0);
    bool delivered = false;
    {
        QObject receiver;
        jobs.run(
            &receiver, [&](const JobContext &) { go.acquire(); }, [&] { delivered = true; });
    }
    go.release();
    QTRY_COMPARE(jobs.pendingCount(), 0);
    QCoreApplication::processEvents();
    QVERIFY(!delivered);
}

void JobRunnerTest::aCancelledJobIsToldToStopAndDeliversNothing()
{
    JobRunner jobs;
    bool delivered = false;
    std::atomic<bool> sawStop = false;
    Job job = jobs.run(
        this,
        [&](const JobContext &context) {
            while (!context.stopRequested())
                QThread::yieldCurrentThread();
            sawStop = true;
        },
        [&] { delivered = true; });
    job.cancel();
    QTRY_COMPARE(jobs.pendingCount(), 0);
    QCoreApplication::processEvents();
    QVERIFY(sawStop);
    QVERIFY(!delivered);
}

void JobRunnerTest::theLatestJobWins()
{
    JobRunner jobs;
    LatestJob latest;
    std::binary_semaphore first(0);
    QList<int> results;
    latest = jobs.run(
        this,
        [&](const JobContext &) {
            first.acquire(); // the old answer comes after the new one
            return 1;
        },
        [&](int result) { results << result; });
    latest = jobs.run(
        this, [](const JobContext &) { return 2; }, [&](int result) { results << result; });
    QTRY_COMPARE(results, QList<int>{2});
    first.release();
    QTRY_COMPARE(jobs.pendingCount(), 0);
    QCoreApplication::processEvents();
    QCOMPARE(results, QList<int>{2});
}

void JobRunnerTest::postedProgressComesInOrderAndBeforeTheResult()
{
    JobRunner jobs;
    QList<int> seen;
    jobs.run(
        this,
        [&seen](const JobContext &context) {
            for (int i = 0; i < 100; ++i)
                context.post([&seen, i] { seen << i; });
            return 100;
        },
        [&](int result) { seen << result; });
    QTRY_COMPARE(seen.size(), 101);
    for (int i = 0; i <= 100; ++i)
        QCOMPARE(seen[i], i);
}

void JobRunnerTest::theRunnersEndStopsWhatStillRuns()
{
    std::atomic<bool> ended = false;
    bool delivered = false;
    {
        JobRunner jobs;
        jobs.run(
            this,
            [&](const JobContext &context) {
                while (!context.stopRequested())
                    QThread::yieldCurrentThread();
                ended = true;
            },
            [&] { delivered = true; });
    }
    QVERIFY(ended);
    QCoreApplication::processEvents();
    QVERIFY(!delivered);
}

QTEST_GUILESS_MAIN(JobRunnerTest)
#include "tst_job_runner.moc"
