#include "models/log/log_buffer.h"

#include <QSignalSpy>
#include <QTest>

using models::LogBuffer;

class LogBufferTest : public QObject
{
    Q_OBJECT

private slots:
    void linesAreTheSameHoweverTheBytesAreCut();
    void cleansWhatTerminalsWouldTake_data();
    void cleansWhatTerminalsWouldTake();
    void anUnfinishedLineCountsWhenTheProcessEnds();
    void dropsTheOldestTenthInWholeLinesWhenFull();
};

void LogBufferTest::linesAreTheSameHoweverTheBytesAreCut()
{
    const QByteArray text = "one\r\ntwo\n\nvier \xc3\xa4\n";
    for (qsizetype cut = 0; cut <= text.size(); ++cut) {
        LogBuffer log;
        log.append(text.first(cut));
        log.append(text.sliced(cut));
        QCOMPARE(log.tail(10), QString::fromUtf8("one\ntwo\n\nvier ä"));
    }
}

void LogBufferTest::cleansWhatTerminalsWouldTake_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("line");
    QTest::newRow("colours") << QByteArray("\x1b[1;31merror\x1b[0m: no") << QByteArray("error: no");
    QTest::newRow("bell and null") << QByteArray("a\a\0b", 4) << QByteArray("ab");
    QTest::newRow("tab stays") << QByteArray("a\tb") << QByteArray("a\tb");
    QTest::newRow("sequence without an end") << QByteArray("a\x1b[31") << QByteArray("a");
}

void LogBufferTest::cleansWhatTerminalsWouldTake()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, line);
    LogBuffer log;
    log.append(bytes + '\n');
    QCOMPARE(log.line(0).toByteArray(), line);
}

void LogBufferTest::anUnfinishedLineCountsWhenTheProcessEnds()
{
    LogBuffer log;
    log.append("last words");
    QCOMPARE(log.lineCount(), 0);
    log.finishLine();
    QCOMPARE(log.tail(1), QStringLiteral("last words"));
}

void LogBufferTest::dropsTheOldestTenthInWholeLinesWhenFull()
{
    LogBuffer log(1000);
    QSignalSpy changes(&log, &LogBuffer::changed);
    int kept = 0;
    for (int i = 0; i < 500; ++i) {
        log.append(QByteArray::number(i).rightJustified(9, '0') + '\n');
        kept += 1 - changes.last().at(0).toInt(); // what a view that follows the signal believes
        QVERIFY(log.byteCount() <= 1000);
        QCOMPARE(log.lineCount(), kept);
        QCOMPARE(changes.last().at(1).toInt(), kept - 1);
    }
    QCOMPARE(log.line(kept - 1).toByteArray(), QByteArray("000000499"));
    QCOMPARE(log.line(0).toByteArray(), QByteArray::number(500 - kept).rightJustified(9, '0'));
}

QTEST_GUILESS_MAIN(LogBufferTest)
#include "tst_log_buffer.moc"
