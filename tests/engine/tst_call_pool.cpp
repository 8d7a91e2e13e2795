// Work that takes long, or for ever, and what those notice who did not ask for it.
#include "engine/runner/call_pool.h"

#include <QTest>
#include <atomic>
#include <future>

using namespace engine;
using namespace std::chrono_literals;

namespace {

/// Work that ends when it is told to.
class Gate
{
public:
    CallPool::Work work(std::string name, std::promise<std::string> &done)
    {
        return [this, future = m_future, name, &done](const ChatTemplate * /*unused*/) -> CallPool::Delivery {
            isReached = true;
            future.wait();
            return [name, &done] { done.set_value(name); };
        };
    }
    void open() { m_promise.set_value(); }

    std::atomic<bool> isReached = false; ///< Some work waits here.

private:
    std::promise<void> m_promise;
    std::shared_future<void> m_future{m_promise.get_future()};
};

CallPool::Work quick(std::promise<std::string> &done)
{
    return [&done](const ChatTemplate * /*unused*/) { return [&done] { done.set_value("quick"); }; };
}

std::unique_ptr<ChatTemplate> noTemplate()
{
    return nullptr;
}

std::string textOf(std::promise<std::string> &promise)
{
    auto future = promise.get_future();
    return future.wait_for(30s) == std::future_status::ready ? future.get() : "nothing came";
}

} // namespace

class CallPoolTest : public QObject
{
    Q_OBJECT

private slots:
    void longWorkKeepsNobodyWaiting();
    void workOverTheLimitIsGivenUpAndItsLateResultIsDropped();
    void tooMuchWorkThatNeverEndsIsTheEnd();
    void whatWaitsIsDroppedAtTheEnd();
};

void CallPoolTest::longWorkKeepsNobodyWaiting()
{
    Gate gate;
    std::promise<std::string> slow;
    std::promise<std::string> fast;
    CallPool pool({}, noTemplate, [] { QFAIL("not ruined"); });
    pool.run(gate.work("slow", slow), [] {});
    pool.run(quick(fast), [] {});
    QCOMPARE(textOf(fast), std::string("quick"));
    gate.open();
    QCOMPARE(textOf(slow), std::string("slow"));
    QVERIFY(pool.stop());
}

void CallPoolTest::workOverTheLimitIsGivenUpAndItsLateResultIsDropped()
{
    Gate gate;
    std::promise<std::string> outcome; // a second value would throw
    std::promise<std::string> fast;
    CallPool pool({.mostThreads = 1, .limit = 50ms}, noTemplate, [] { QFAIL("not ruined"); });
    pool.run(gate.work("late", outcome), [&] { outcome.set_value("given up"); });
    QCOMPARE(textOf(outcome), std::string("given up"));
    pool.run(quick(fast), [] {}); // the lost thread is not counted
    QCOMPARE(textOf(fast), std::string("quick"));
    gate.open();
    QVERIFY(pool.stop());
}

void CallPoolTest::tooMuchWorkThatNeverEndsIsTheEnd()
{
    Gate gate;
    std::promise<std::string> ruined;
    std::promise<std::string> unused;
    CallPool pool({.mostThreads = 2, .mostGivenUp = 2, .limit = 20ms}, noTemplate,
                  [&] { ruined.set_value("ruined"); });
    for (int i = 0; i < 3; ++i)
        pool.run(gate.work("never", unused), [] {});
    QCOMPARE(textOf(ruined), std::string("ruined"));
    QVERIFY(!pool.stop()); // three still run
    gate.open();
    QTRY_VERIFY(pool.stop());
}

void CallPoolTest::whatWaitsIsDroppedAtTheEnd()
{
    Gate gate;
    std::promise<std::string> first;
    std::atomic<bool> begun = false;
    CallPool pool({.mostThreads = 1}, noTemplate, [] { QFAIL("not ruined"); });
    pool.run(gate.work("first", first), [] {});
    QTRY_VERIFY(gate.isReached);
    pool.run(
        [&begun](const ChatTemplate * /*unused*/) -> CallPool::Delivery {
            begun = true;
            return [] {};
        },
        [] {});
    QVERIFY(!pool.stop());
    gate.open();
    QTRY_VERIFY(pool.stop());
    QVERIFY(!begun);
}

QTEST_APPLESS_MAIN(CallPoolTest)
#include "tst_call_pool.moc"
