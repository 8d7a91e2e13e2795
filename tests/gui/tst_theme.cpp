#include "ui/theme/theme.h"
#include "ui/widgets/state.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFrame>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryFile>
#include <QTest>
#include <cmath>

using ui::Theme;

class ThemeTest : public QObject
{
    Q_OBJECT

private slots:
    void bothThemesHaveTheSameNames();
    void everyTokenOfTheStyleSheetResolves_data() { modes(); }
    void everyTokenOfTheStyleSheetResolves();
    void everyPictureOfTheStyleSheetIsThere_data() { modes(); }
    void everyPictureOfTheStyleSheetIsThere();
    void everyStateHasShapeColourAndWord_data() { modes(); }
    void everyStateHasShapeColourAndWord();
    void textIsReadable_data();
    void textIsReadable();
    void changesAtRunTime();
    void changesWhereNoFileCanBeWritten();
    void zoomScalesTypeAndNotLines();

private:
    static void modes();
};

void ThemeTest::modes()
{
    QTest::addColumn<Theme::Mode>("mode");
    QTest::newRow("dark") << Theme::Mode::Dark;
    QTest::newRow("light") << Theme::Mode::Light;
}

void ThemeTest::bothThemesHaveTheSameNames()
{
    const Theme dark(Theme::Mode::Dark);
    const Theme light(Theme::Mode::Light);
    QFile tokens(QStringLiteral(":/theme/tokens.json"));
    QVERIFY(tokens.open(QIODevice::ReadOnly));
    static const QRegularExpression name(QStringLiteral("\"([a-z0-9.A-Z]+)\": \"#"));
    int count = 0;
    for (auto it = name.globalMatch(QString::fromUtf8(tokens.readAll())); it.hasNext(); ++count) {
        const QString token = it.next().captured(1);
        QVERIFY2(dark.hasColor(token), qPrintable(token));
        QVERIFY2(light.hasColor(token), qPrintable(token));
    }
    QVERIFY(count > 60);
}

void ThemeTest::everyTokenOfTheStyleSheetResolves()
{
    QFETCH(Theme::Mode, mode);
    static const QRegularExpression comment(QStringLiteral("/\\*.*?\\*/"),
                                            QRegularExpression::DotMatchesEverythingOption);
    const QString sheet = Theme(mode).styleSheet().remove(comment);
    QVERIFY(sheet.size() > 1000);
    static const QRegularExpression mark(QStringLiteral("@[^@\\s]*@?"));
    QVERIFY2(!sheet.contains(u'@'), qPrintable(mark.match(sheet).captured()));
}

void ThemeTest::everyPictureOfTheStyleSheetIsThere()
{
    QFETCH(Theme::Mode, mode);
    static const QRegularExpression url(QStringLiteral("url\\(([^)]+)\\)"));
    int count = 0;
    for (auto it = url.globalMatch(Theme(mode).styleSheet()); it.hasNext(); ++count) {
        const QString path = it.next().captured(1);
        QVERIFY2(QFile::exists(path), qPrintable(path));
    }
    QVERIFY(count > 3);
}

void ThemeTest::everyStateHasShapeColourAndWord()
{
    QFETCH(Theme::Mode, mode);
    const Theme theme(mode);
    using ui::State;
    for (const State state : {State::Ok, State::Run, State::Wait, State::Warn, State::Err, State::Paused,
                              State::Skipped, State::Unknown}) {
        QVERIFY(QFile::exists(theme.iconPath(ui::stateIconName(state))));
        QVERIFY(theme.hasColor(ui::stateColorName(state)));
        QVERIFY(!ui::stateWord(state).isEmpty());
    }
}

void ThemeTest::textIsReadable_data()
{
    QTest::addColumn<Theme::Mode>("mode");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("ground");
    for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light})
        for (const char *text : {"text", "text.2", "text.3", "ok", "run", "warn", "err"})
            for (const char *ground : {"bg.window", "bg.panel", "bg.raised"})
                QTest::addRow("%s on %s, %s", text, ground, mode == Theme::Mode::Dark ? "dark" : "light")
                    << mode << QString::fromLatin1(text) << QString::fromLatin1(ground);
}

void ThemeTest::textIsReadable()
{
    QFETCH(Theme::Mode, mode);
    QFETCH(QString, text);
    QFETCH(QString, ground);
    const auto luminance = [](const QColor &color) {
        const auto linear
            = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF())
            + 0.0722 * linear(color.blueF());
    };
    const Theme theme(mode);
    const double a = luminance(theme.color(text));
    const double b = luminance(theme.color(ground));
    QVERIFY((qMax(a, b) + 0.05) / (qMin(a, b) + 0.05) >= 4.5); // WCAG AA
}

void ThemeTest::changesAtRunTime()
{
    Theme theme(Theme::Mode::Dark);
    theme.applyToApplication();
    QFrame card; // what stands in the sheet only is looked at as it is painted
    card.setProperty("card", true);
    card.resize(60, 40);
    card.show();
    const auto ground = [&card] { return card.grab().toImage().pixelColor(30, 20); };
    QCOMPARE(ground(), theme.color(QStringLiteral("bg.panel")));
    QSignalSpy changes(&theme, &Theme::changed);
    const QColor dark = qApp->palette().color(QPalette::Window);
    theme.setMode(Theme::Mode::Light);
    QCOMPARE(changes.count(), 1);
    QVERIFY(qApp->palette().color(QPalette::Window) != dark);
    QCOMPARE(qApp->palette().color(QPalette::Window), theme.color(QStringLiteral("bg.window")));
    QCOMPARE(ground(), theme.color(QStringLiteral("bg.panel")));
    theme.setMode(Theme::Mode::Light);
    QCOMPARE(changes.count(), 1);
}

void ThemeTest::changesWhereNoFileCanBeWritten()
{
    QTemporaryFile noFolder;
    QVERIFY(noFolder.open());
    const QByteArray before = QFile::encodeName(QDir::tempPath());
    qputenv("TMPDIR", QFile::encodeName(noFolder.fileName()));
    Theme theme(Theme::Mode::Dark);
    qputenv("TMPDIR", before);
    QFrame card;
    card.setProperty("card", true);
    card.resize(60, 40);
    card.show();
    for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light, Theme::Mode::Dark}) {
        theme.setMode(mode);
        theme.applyToApplication();
        QVERIFY(!qApp->styleSheet().startsWith(QStringLiteral("file:")));
        QCOMPARE(card.grab().toImage().pixelColor(30, 20), theme.color(QStringLiteral("bg.panel")));
    }
}

void ThemeTest::zoomScalesTypeAndNotLines()
{
    Theme theme;
    const int before = theme.font(Theme::FontRole::Body).pixelSize();
    theme.setZoom(200);
    QCOMPARE(theme.font(Theme::FontRole::Body).pixelSize(), 2 * before);
    QVERIFY(theme.styleSheet().contains(QStringLiteral("font-size: 26px")));
    QVERIFY(theme.styleSheet().contains(QStringLiteral("border: 1px solid")));
    theme.setZoom(1000);
    QCOMPARE(theme.zoom(), 200);
}

QTEST_MAIN(ThemeTest)
#include "tst_theme.moc"
