#include "ui/shell/fuzzy_match.h"

#include <QTest>

using ui::fuzzyScore;

class FuzzyMatchTest : public QObject
{
    Q_OBJECT

private slots:
    void findsLettersInOrder_data();
    void findsLettersInOrder();
    void ranksTheNearerTextHigher_data();
    void ranksTheNearerTextHigher();
};

void FuzzyMatchTest::findsLettersInOrder_data()
{
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("found");
    QTest::newRow("nothing typed") << ""
                                   << "Metrics" << true;
    QTest::newRow("whole") << "Metrics"
                           << "Metrics" << true;
    QTest::newRow("case") << "mEt"
                          << "Metrics" << true;
    QTest::newRow("gaps") << "mtc"
                          << "Metrics" << true;
    QTest::newRow("blanks do not count") << "da th"
                                         << "Dark theme" << true;
    QTest::newRow("order counts") << "tm"
                                  << "Mt" << false;
    QTest::newRow("letter missing") << "mz"
                                    << "Metrics" << false;
    QTest::newRow("letter twice") << "ss"
                                  << "s" << false;
    QTest::newRow("empty text") << "a"
                                << "" << false;
}

void FuzzyMatchTest::findsLettersInOrder()
{
    QFETCH(QString, typed);
    QFETCH(QString, text);
    QFETCH(bool, found);
    QCOMPARE(fuzzyScore(typed, text).has_value(), found);
}

void FuzzyMatchTest::ranksTheNearerTextHigher_data()
{
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("nearer");
    QTest::addColumn<QString>("other");
    QTest::newRow("beginning") << "me"
                               << "Metrics"
                               << "Theme";
    QTest::newRow("in a row") << "log"
                              << "Engine log"
                              << "Layout grid";
    QTest::newRow("words' first letters") << "rl"
                                          << "Reset layout"
                                          << "Parallel";
    QTest::newRow("words in the middle") << "dark"
                                         << "View Dark theme"
                                         << "Dashboard kit";
}

void FuzzyMatchTest::ranksTheNearerTextHigher()
{
    QFETCH(QString, typed);
    QFETCH(QString, nearer);
    QFETCH(QString, other);
    QVERIFY(fuzzyScore(typed, nearer).value_or(-1) > fuzzyScore(typed, other).value_or(-1));
}

QTEST_APPLESS_MAIN(FuzzyMatchTest)
#include "tst_fuzzy_match.moc"
