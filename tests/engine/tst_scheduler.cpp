#include "tests/engine/fake_decoder.h"
#include <QtTest>

using engine::FinishReason;

namespace {

int rowsOfSequenceOwner(const std::vector<engine::BatchRow> &batch, char c)
{
    return static_cast<int>(
        std::count_if(batch.begin(), batch.end(), [c](const auto &row) { return row.token == c; }));
}

} // namespace

class SchedulerTest : public QObject
{
    Q_OBJECT

private slots:
    void oneRequestGetsItsTokens();
    void manyRequestsGetWhatTheyWouldGetAlone();
    void decodingRowsAreInEveryBatch();
    void aShortPromptOvertakesALongOneThatIsBeingComputed();
    void theOldestPromptAlwaysGetsOn();
    void admissionIsFirstComeFirstServed();
    void lowerPriorityIsAdmittedFirst();
    void aFinishedPromptIsNotComputedAgain();
    void aPrefixIsSharedWithARequestThatStillRuns();
    void equalPromptsThatArriveTogetherAreComputedOnce();
    void prefixesAreNotSharedAcrossSalts();
    void withoutPrefixCachingNothingIsShared();
    void aModelThatCannotShareStillAnswers();
    void whatNobodyUsesIsEvicted();
    void whatIsNotAskedForAgainIsForgotten();
    void whenTheCacheIsFullTheYoungestStartsOver();
    void aDecoderThatFindsNoRoomIsGivenSome();
    void aCancelledRequestIsInNoLaterBatch();
    void cancellingFreesTheCells();
    void statisticsTellWhatHappened();
    void randomTrafficKeepsTheAccount();
};
void SchedulerTest::oneRequestGetsItsTokens()
{
    FakeEngine fake(256);
    fake.submit(FakeEngine::request(1, "hello", 8));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.texts[1], FakeEngine::expected("hello", 8));
    QCOMPARE(fake.finishes[1].reason, FinishReason::Length);
    QCOMPARE(fake.events[1].size(), std::size_t(8));
    QVERIFY(fake.decoder.complaints.empty());
}

void SchedulerTest::manyRequestsGetWhatTheyWouldGetAlone()
{
    FakeEngine fake(4096, {.maxNumSeqs = 8});
    for (unsigned id = 1; id <= 20; ++id)
        fake.submit(
            FakeEngine::request(id, "same start " + filler('a', static_cast<int>(id) * 7 % 90) + "?", 20));
    QVERIFY(fake.runAll());
    for (unsigned id = 1; id <= 20; ++id) {
        const std::string prompt = "same start " + filler('a', static_cast<int>(id) * 7 % 90) + "?";
        QCOMPARE(fake.texts[id], FakeEngine::expected(prompt, 20));
    }
    QVERIFY(fake.decoder.complaints.empty());
    QCOMPARE(fake.decoder.fullCount, 0);
}

void SchedulerTest::decodingRowsAreInEveryBatch()
{
    FakeEngine fake(4096, {.maxNumBatchedTokens = 64});
    fake.submit(FakeEngine::request(1, "abc", 60));
    fake.scheduler().step();
    fake.submit(FakeEngine::request(2, filler('L', 2000), 1));
    const std::size_t before = fake.events[1].size();
    for (int i = 0; i < 10; ++i)
        fake.scheduler().step();
    QCOMPARE(fake.events[1].size(), before + 10);
    for (const auto &batch : fake.decoder.batches)
        QVERIFY(batch.size() <= 64);
}

void SchedulerTest::aShortPromptOvertakesALongOneThatIsBeingComputed()
{
    FakeEngine fake(8192, {.maxNumBatchedTokens = 64});
    fake.submit(FakeEngine::request(1, filler('L', 3000), 1));
    fake.scheduler().step();
    fake.submit(FakeEngine::request(2, "short one", 1));
    fake.scheduler().step();
    QVERIFY(fake.finishes.contains(2));
    QVERIFY(!fake.finishes.contains(1));
    QVERIFY(fake.runAll());
    QVERIFY(fake.finishes.contains(1));
}

void SchedulerTest::theOldestPromptAlwaysGetsOn()
{
    FakeEngine fake(16384, {.maxNumBatchedTokens = 64});
    fake.submit(FakeEngine::request(1, filler('L', 1000), 1));
    fake.scheduler().step();
    for (unsigned id = 2; id < 200 && !fake.finishes.contains(1); ++id) {
        fake.submit(
            FakeEngine::request(id, std::to_string(id) + filler('s', 60), 1)); // a flood of short ones
        fake.scheduler().step();
        QVERIFY(fake.finishes.contains(1) || rowsOfSequenceOwner(fake.decoder.batches.back(), 'L') > 0);
    }
    QVERIFY(fake.finishes.contains(1));
}

void SchedulerTest::admissionIsFirstComeFirstServed()
{
    FakeEngine fake(4096, {.maxNumSeqs = 1});
    for (unsigned id = 1; id <= 5; ++id)
        fake.submit(FakeEngine::request(id, "p" + std::to_string(id), 3));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.firstTokenOrder, (std::vector<engine::RequestId>{1, 2, 3, 4, 5}));
}

void SchedulerTest::lowerPriorityIsAdmittedFirst()
{
    FakeEngine fake(4096, {.maxNumSeqs = 1});
    for (unsigned id = 1; id <= 4; ++id) {
        engine::GenerateRequest request = FakeEngine::request(id, "p" + std::to_string(id), 3);
        request.priority = id == 3 ? -1 : id == 1 ? 7 : 0;
        fake.submit(std::move(request));
    }
    QVERIFY(fake.runAll());
    QCOMPARE(fake.firstTokenOrder, (std::vector<engine::RequestId>{3, 2, 4, 1}));
}

void SchedulerTest::aFinishedPromptIsNotComputedAgain()
{
    FakeEngine fake(4096);
    const std::string prompt = "system: be brief. " + filler('x', 200);
    fake.submit(FakeEngine::request(1, prompt, 10));
    QVERIFY(fake.runAll());
    const std::string longer = prompt + fake.texts[1] + " and then?";
    fake.submit(FakeEngine::request(2, longer, 10));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.texts[2], FakeEngine::expected(longer, 10));
    QCOMPARE(fake.events[2].front().cachedPromptTokens, static_cast<int>(prompt.size()) + 9);
    fake.submit(
        FakeEngine::request(3, prompt, 10)); // wholly known: the last token is computed for its logits
    QVERIFY(fake.runAll());
    QCOMPARE(fake.texts[3], FakeEngine::expected(prompt, 10));
    QCOMPARE(fake.events[3].front().cachedPromptTokens, static_cast<int>(prompt.size()) - 1);
    QVERIFY(fake.decoder.complaints.empty());
}

void SchedulerTest::aPrefixIsSharedWithARequestThatStillRuns()
{
    FakeEngine fake(4096);
    const std::string prefix = filler('p', 300);
    fake.submit(FakeEngine::request(1, prefix + "one", 100));
    for (int i = 0; i < 20; ++i)
        fake.scheduler().step();
    QVERIFY(fake.texts.contains(1) && !fake.finishes.contains(1));
    fake.submit(FakeEngine::request(2, prefix + "two", 5));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.events[2].front().cachedPromptTokens, 300);
    QCOMPARE(fake.texts[1], FakeEngine::expected(prefix + "one", 100));
    QCOMPARE(fake.texts[2], FakeEngine::expected(prefix + "two", 5));
}

void SchedulerTest::equalPromptsThatArriveTogetherAreComputedOnce()
{
    FakeEngine fake(4096);
    const std::string prefix = filler('p', 1000);
    for (unsigned id = 1; id <= 16; ++id)
        fake.submit(FakeEngine::request(id, prefix + std::to_string(100 + id), 4));
    QVERIFY(fake.runAll());
    int computed = 0;
    for (const auto &batch : fake.decoder.batches)
        computed += rowsOfSequenceOwner(batch, 'p');
    QVERIFY2(computed < 1100, qPrintable(QString::number(computed)));
    for (unsigned id = 1; id <= 16; ++id)
        QCOMPARE(fake.texts[id], FakeEngine::expected(prefix + std::to_string(100 + id), 4));
    QVERIFY(fake.decoder.complaints.empty());
}

void SchedulerTest::prefixesAreNotSharedAcrossSalts()
{
    FakeEngine fake(4096);
    for (unsigned id = 1; id <= 3; ++id) {
        engine::GenerateRequest request = FakeEngine::request(id, filler('p', 200), 3);
        request.cacheSalt = id == 1 ? "mine" : "yours";
        fake.submit(std::move(request));
        QVERIFY(fake.runAll());
    }
    QCOMPARE(fake.events[2].front().cachedPromptTokens, 0);
    QCOMPARE(fake.events[3].front().cachedPromptTokens, 199);
}

void SchedulerTest::withoutPrefixCachingNothingIsShared()
{
    FakeEngine fake(4096, {.prefixCaching = false});
    for (unsigned id = 1; id <= 3; ++id)
        fake.submit(FakeEngine::request(id, filler('p', 200), 3));
    QVERIFY(fake.runAll());
    for (unsigned id = 1; id <= 3; ++id)
        QCOMPARE(fake.texts[id], FakeEngine::expected(filler('p', 200), 3));
    QCOMPARE(fake.decoder.freeCells(), 4096);
    QCOMPARE(fake.scheduler().takeStats().prefixQueries, 0);
}

void SchedulerTest::aModelThatCannotShareStillAnswers()
{
    FakeEngine fake(600);
    fake.decoder.shares = false;
    fake.decoder.sequences = 32;
    for (unsigned id = 1; id <= 6; ++id)
        fake.submit(FakeEngine::request(id, filler('p', 150), 20));
    QVERIFY(fake.runAll());
    for (unsigned id = 1; id <= 6; ++id)
        QCOMPARE(fake.texts[id], FakeEngine::expected(filler('p', 150), 20));
}

void SchedulerTest::whatNobodyUsesIsEvicted()
{
    FakeEngine fake(500);
    for (unsigned id = 1; id <= 10; ++id) {
        const std::string prompt = std::to_string(id) + filler('x', 150);
        fake.submit(FakeEngine::request(id, prompt, 10));
        QVERIFY(fake.runAll());
        QCOMPARE(fake.texts[id], FakeEngine::expected(prompt, 10));
    }
    fake.submit(FakeEngine::request(11, "10" + filler('x', 150), 1)); // the newest is still there
    fake.submit(FakeEngine::request(12, "1" + filler('x', 150), 1)); // the oldest is not
    QVERIFY(fake.runAll());
    QVERIFY(fake.events[11].front().cachedPromptTokens > 140);
    QVERIFY(fake.events[12].front().cachedPromptTokens < 20);
    QCOMPARE(fake.scheduler().takeStats().preemptions, 0);
    QCOMPARE(fake.decoder.fullCount, 0);
}

void SchedulerTest::whatIsNotAskedForAgainIsForgotten()
{
    // The fake takes a millisecond a token: keeping one for 1000 rows costs as much as computing it again.
    FakeEngine fake(8192, {.foreignCellCost = engine::Seconds(1e-6)});
    const std::string proven = filler('p', 400);
    const std::string once = filler('o', 400);
    for (unsigned id = 1; id <= 3; ++id) {
        fake.submit(FakeEngine::request(id, (id < 3 ? proven : once) + std::to_string(id), 1));
        QVERIFY(fake.runAll());
    }
    for (unsigned id = 10; id < 20; ++id) {
        fake.submit(FakeEngine::request(id, filler('a', static_cast<int>(id)) + filler('z', 70), 1));
        QVERIFY(fake.runAll());
    }
    fake.submit(FakeEngine::request(30, proven + "?", 1));
    fake.submit(FakeEngine::request(31, once + "?", 1));
    QVERIFY(fake.runAll());
    QCOMPARE(fake.events[30].front().cachedPromptTokens, 400);
    QCOMPARE(fake.events[31].front().cachedPromptTokens, 0);
    QVERIFY(fake.decoder.complaints.empty());
}

void SchedulerTest::whenTheCacheIsFullTheYoungestStartsOver()
{
    FakeEngine fake(400);
    for (unsigned id = 1; id <= 6; ++id)
        fake.submit(FakeEngine::request(id, std::to_string(id) + filler('x', 30), 120));
    QVERIFY(fake.runAll());
    QVERIFY(fake.failures.empty());
    for (unsigned id = 1; id <= 6; ++id)
        QCOMPARE(fake.texts[id], FakeEngine::expected(std::to_string(id) + filler('x', 30), 120));
    const auto preemptions = fake.scheduler().takeStats().preemptions;
    QVERIFY(preemptions > 0);
    std::int64_t told = 0; // each request knows its own share
    for (unsigned id = 1; id <= 6; ++id)
        told += fake.events[id].back().preemptions;
    QCOMPARE(told, preemptions);
    QVERIFY(fake.decoder.complaints.empty());
    QCOMPARE(fake.decoder.fullCount, 0);
    const auto first = fake.events[1].back().times.lastToken;
    QVERIFY(first < fake.events[6].back().times.lastToken); // the oldest was never thrown out
}

void SchedulerTest::aDecoderThatFindsNoRoomIsGivenSome()
{
    FakeEngine fake(1000);
    for (unsigned id = 1; id <= 3; ++id)
        fake.submit(FakeEngine::request(id, std::to_string(id) + filler('x', 100), 30));
    for (int i = 0; i < 5; ++i)
        fake.scheduler().step();
    fake.decoder.spuriousFull = 2;
    QVERIFY(fake.runAll());
    QVERIFY(fake.failures.empty());
    for (unsigned id = 1; id <= 3; ++id)
        QCOMPARE(fake.texts[id], FakeEngine::expected(std::to_string(id) + filler('x', 100), 30));
}

void SchedulerTest::aCancelledRequestIsInNoLaterBatch()
{
    FakeEngine fake(4096, {.maxNumSeqs = 2});
    for (unsigned id = 1; id <= 3; ++id)
        fake.submit(FakeEngine::request(id, std::to_string(id) + "abc", 50));
    fake.scheduler().step();
    fake.scheduler().cancel(1); // runs
    fake.scheduler().cancel(3); // waits
    const std::size_t seen = fake.events[1].size();
    QVERIFY(fake.runAll());
    QCOMPARE(fake.events[1].size(), seen);
    QVERIFY(!fake.texts.contains(3));
    QVERIFY(!fake.finishes.contains(1));
    QCOMPARE(fake.texts[2], FakeEngine::expected("2abc", 50));
}

void SchedulerTest::cancellingFreesTheCells()
{
    FakeEngine fake(512, {.prefixCaching = false});
    fake.submit(FakeEngine::request(1, filler('x', 300), 50));
    for (int i = 0; i < 6; ++i)
        fake.scheduler().step();
    QVERIFY(fake.decoder.freeCells() < 512);
    fake.scheduler().cancel(1);
    QCOMPARE(fake.decoder.freeCells(), 512);
    QCOMPARE(fake.scheduler().takeStats().kvUsedTokens, 0);
}

void SchedulerTest::statisticsTellWhatHappened()
{
    FakeEngine fake(1000, {.maxNumSeqs = 1});
    fake.submit(FakeEngine::request(1, filler('x', 40), 10));
    fake.submit(FakeEngine::request(2, filler('x', 40), 10));
    fake.scheduler().step();
    engine::RunnerStats stats = fake.scheduler().takeStats();
    QCOMPARE(stats.running, 1);
    QCOMPARE(stats.waiting, 1);
    QCOMPARE(stats.kvUsedTokens, 40);
    QCOMPARE(stats.kvTotalTokens, 1000);
    QCOMPARE(stats.stepTokens, (std::vector<int>{40}));
    QVERIFY(fake.runAll());
    stats = fake.scheduler().takeStats();
    QCOMPARE(stats.kvUsedTokens, 0);
    QCOMPARE(stats.prefixQueries, 80);
    QCOMPARE(stats.prefixHits, 39);
    QVERIFY(fake.scheduler().takeStats().stepTokens.empty());
}

void SchedulerTest::randomTrafficKeepsTheAccount()
{
    for (unsigned seed = 1; seed <= 12; ++seed) {
        std::mt19937 random(seed);
        const auto upTo = [&](unsigned n) { return static_cast<int>(random() % n); };
        FakeEngine fake(700, {.maxNumSeqs = 6, .maxNumBatchedTokens = 96});
        fake.decoder.sequences = 6 + 4; // few holders: they run out as well
        std::map<engine::RequestId, std::pair<std::string, int>> asked;
        for (unsigned id = 1; id <= 60; ++id) {
            const std::string prompt
                = filler('a', upTo(4) * 40) + filler('b', upTo(3) * 30) + filler('c', 1 + upTo(60));
            asked[id] = {prompt, 1 + upTo(80)};
            engine::GenerateRequest request = FakeEngine::request(id, prompt, asked[id].second);
            request.cacheSalt = upTo(5) == 0 ? "salt" : "";
            request.priority = upTo(3);
            fake.submit(std::move(request));
            for (int i = upTo(12); i > 0; --i)
                fake.scheduler().step();
            if (upTo(6) == 0) {
                const engine::RequestId gone = 1 + static_cast<unsigned>(upTo(id));
                fake.scheduler().cancel(gone);
                asked.erase(gone);
            }
        }
        QVERIFY(fake.runAll(20000));
        QVERIFY(fake.failures.empty());
        QVERIFY2(fake.decoder.complaints.empty(),
                 fake.decoder.complaints.empty() ? "" : fake.decoder.complaints[0].c_str());
        QCOMPARE(fake.decoder.fullCount, 0);
        QCOMPARE(fake.scheduler().takeStats().kvUsedTokens, 0);
        for (const auto &[id, what] : asked)
            QCOMPARE(fake.texts[id], FakeEngine::expected(what.first, what.second));
    }
}

QTEST_APPLESS_MAIN(SchedulerTest)
#include "tst_scheduler.moc"
