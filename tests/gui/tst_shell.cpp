#include "cluster/net/http_client.h"
#include "models/bridge/job_runner.h"
#include "models/engine/endpoint_list.h"
#include "models/engine/endpoint_probe.h"
#include "models/engine/local_engine.h"
#include "models/engine/model_pull.h"
#include "models/engine/secret_store.h"
#include "models/log/log_buffer.h"
#include "ui/shell/add_target_dialog.h"
#include "ui/shell/command_field.h"
#include "ui/shell/dock.h"
#include "ui/shell/dock_set.h"
#include "ui/shell/main_window.h"
#include "ui/shell/navigation_panel.h"
#include "ui/shell/page.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/log_view.h"
#include "ui/widgets/state_label.h"

#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QAction>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QVBoxLayout>

using ui::MainWindow;
using ui::Page;

namespace {

class TestPage : public Page
{
public:
    TestPage(const QString &id, int shortcut)
        : Page({id, id + QStringLiteral(" page"), QStringLiteral("chat"), shortcut}),
          m_edit(new QLineEdit(this)), m_action(new QAction(QStringLiteral("Do the ") + id, this))
    {
        m_edit->setAccessibleName(id + QStringLiteral(" field"));
        (new QVBoxLayout(this))->addWidget(m_edit);
        m_action->setShortcut(QKeySequence(QStringLiteral("Ctrl+J"))); // the same keys on every page
        connect(m_action, &QAction::triggered, this, [this] { ++doneCount; });
    }

    QList<ui::PageDock> docks() override
    {
        auto *widget = new QLineEdit;
        widget->setAccessibleName(traits().id + QStringLiteral(" dock field"));
        return {{traits().id + QStringLiteral("Dock"), traits().id + QStringLiteral(" dock"), widget}};
    }
    QList<ui::PageAction> actions() override { return {{m_action, ui::MenuId::Edit}}; }
    void refresh() override { ++refreshCount; }
    bool stop() override
    {
        ++stopCount;
        return true;
    }
    QWidget *startWidget() override { return m_edit; }

    int doneCount = 0;
    int refreshCount = 0;
    int stopCount = 0;

private:
    QLineEdit *m_edit;
    QAction *m_action;
};

/// The window with all it needs, over a folder that outlives it.
struct Bench
{
    explicit Bench(const QTemporaryDir &dir)
        : settings(dir.filePath(QStringLiteral("slipway.ini")), QSettings::IniFormat),
          secrets(dir.filePath(QStringLiteral("keys.json"))), engine(jobs, http, log),
          endpoints(settings, secrets), probe(endpoints, jobs, http),
          pull(QStringLiteral("/nowhere/slipwayctl"), log),
          window({theme, settings, endpoints, probe, engine, log, pull}),
          first(new TestPage(QStringLiteral("first"), 4)), second(new TestPage(QStringLiteral("second"), 5))
    {
        endpoints.follow(engine);
        theme.applyToApplication();
        window.addPage(second);
        window.addPage(first);
        window.restoreLayout();
        window.show();
    }

    [[nodiscard]] ui::Dock *dock(const QString &id) { return window.findChild<ui::Dock *>(id); }
    /// Types into the command field, as a user does.
    void command(const QString &text, Qt::Key key = Qt::Key_Return)
    {
        QTest::keyClick(window.windowHandle(), Qt::Key_K, Qt::ControlModifier);
        QVERIFY(window.commandField()->isOpen());
        QTest::keyClicks(window.commandField(), text);
        QTest::keyClick(window.commandField(), key);
    }

    QSettings settings;
    ui::Theme theme;
    models::FileSecretStore secrets;
    models::LogBuffer log;
    cluster::HttpClient http;
    models::JobRunner jobs;
    models::LocalEngine engine;
    models::EndpointList endpoints;
    models::EndpointProbe probe;
    models::ModelPull pull;
    MainWindow window;
    TestPage *first;
    TestPage *second;
};

} // namespace

class ShellTest : public QObject
{
    Q_OBJECT

private slots:
    void numbersOpenPages();
    void theCommandFieldFindsAndRunsByKeyboard();
    void theCommandFieldRunsAnActionOfAnotherPageThere();
    void escapeLeavesTheCommandFieldAndGivesTheKeyboardBack();
    void everyListedCommandIsFoundByItsName();
    void onlyTheCurrentPagesActionsHaveTheirShortcut();
    void escapeStopsAndF5Refreshes();
    void f6GoesRoundTheAreas();
    void docksFollowTheirPageUnlessPinned();
    void layoutPageAndDocksAreKept();
    void themeSwitchesFromTheMenu();
    void narrowWindowsShowIconsOnly();
    void nothingAsksForMoreThanTheSmallestWindow();
    void aFailedEngineIsToldWithAWayOut();
    void namesForScreenReadersAreUnique();
    void aTargetIsAddedByKeyboardAndAWrongUrlIsSaid();
    void helpListsTheKeys();
    void theLogTellsItsLinesToScreenReadersAndFindsThem();
};

void ShellTest::numbersOpenPages()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QCOMPARE(bench.window.currentPage(), bench.second); // the first one that was added
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_4, Qt::ControlModifier);
    QCOMPARE(bench.window.currentPage(), bench.first);
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_5, Qt::ControlModifier);
    QCOMPARE(bench.window.currentPage(), bench.second);
    QVERIFY(bench.window.windowTitle().contains(QStringLiteral("second")));
}

void ShellTest::theCommandFieldFindsAndRunsByKeyboard()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    bench.command(QStringLiteral("fipa")); // FIrst PAge
    QCOMPARE(bench.window.currentPage(), bench.first);
    QVERIFY(!bench.window.commandField()->isOpen());
    bench.command(QStringLiteral("light"));
    QTRY_COMPARE(bench.theme.mode(), ui::Theme::Mode::Light);
    bench.command(QStringLiteral("no such thing anywhere"));
    QVERIFY(bench.window.commandField()->isOpen()); // nothing found: nothing done
    QCOMPARE(bench.window.commandField()->listView()->model()->rowCount(), 0);
}

void ShellTest::theCommandFieldRunsAnActionOfAnotherPageThere()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    bench.command(QStringLiteral("do the first"));
    QCOMPARE(bench.first->doneCount, 1);
    QCOMPARE(bench.window.currentPage(), bench.first);
}

void ShellTest::escapeLeavesTheCommandFieldAndGivesTheKeyboardBack()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QVERIFY(QTest::qWaitForWindowActive(&bench.window));
    bench.second->startWidget()->setFocus();
    bench.command(QStringLiteral("light"), Qt::Key_Escape);
    QVERIFY(!bench.window.commandField()->isOpen());
    QCOMPARE(bench.window.focusWidget(), bench.second->startWidget());
    QCoreApplication::processEvents(); // a change of theme would come in a turn of its own
    QCOMPARE(bench.theme.mode(), ui::Theme::Mode::Dark);
}

void ShellTest::everyListedCommandIsFoundByItsName()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    auto *field = bench.window.commandField();
    field->open();
    auto *model = field->listView()->model();
    const QAbstractItemModelTester tester(model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QStringList titles;
    for (int row = 0; row < model->rowCount(); ++row)
        titles << model->index(row, 0).data().toString();
    QVERIFY2(titles.size() > 15, qPrintable(titles.join(u',')));
    for (const QString &title : titles) {
        field->clear();
        QTest::keyClicks(field, QString(title).remove(QChar(0x2026))); // no key for the three dots
        QCOMPARE(model->index(0, 0).data().toString(), title);
    }
}

void ShellTest::onlyTheCurrentPagesActionsHaveTheirShortcut()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_J, Qt::ControlModifier);
    QCOMPARE(bench.second->doneCount, 1);
    bench.window.showPage(bench.first);
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_J, Qt::ControlModifier);
    QCOMPARE(bench.first->doneCount, 1);
    QCOMPARE(bench.second->doneCount, 1);
}

void ShellTest::escapeStopsAndF5Refreshes()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QVERIFY(QTest::qWaitForWindowActive(&bench.window));
    bench.second->startWidget()->setFocus();
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_Escape);
    QCOMPARE(bench.second->stopCount, 1);
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_F5);
    QCOMPARE(bench.second->refreshCount, 1);
    QCOMPARE(bench.first->refreshCount, 0);
}

void ShellTest::f6GoesRoundTheAreas()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QVERIFY(QTest::qWaitForWindowActive(&bench.window));
    bench.second->startWidget()->setFocus();
    QList<QWidget *> visited;
    for (int i = 0; i < 4; ++i) { // dock, toolbar, navigation, and the page again
        QTest::keyClick(bench.window.windowHandle(), Qt::Key_F6);
        QVERIFY(!visited.contains(bench.window.focusWidget()));
        visited << bench.window.focusWidget();
    }
    QCOMPARE(visited.last(), bench.second->startWidget());
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_F6, Qt::ShiftModifier);
    QCOMPARE(bench.window.focusWidget(), visited[2]);
}

void ShellTest::docksFollowTheirPageUnlessPinned()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QVERIFY(bench.dock(QStringLiteral("secondDock"))->isVisible());
    QVERIFY(!bench.dock(QStringLiteral("firstDock"))->isVisible());
    bench.dock(QStringLiteral("secondDock"))->setPinned(true);
    bench.window.showPage(bench.first);
    QVERIFY(bench.dock(QStringLiteral("secondDock"))->isVisible());
    QVERIFY(bench.dock(QStringLiteral("firstDock"))->isVisible());
    bench.dock(QStringLiteral("secondDock"))->setPinned(false);
    QVERIFY(!bench.dock(QStringLiteral("secondDock"))->isVisible());
}

void ShellTest::layoutPageAndDocksAreKept()
{
    const QTemporaryDir dir;
    {
        Bench bench(dir);
        bench.window.resize(1300, 800);
        bench.window.showPage(bench.first);
        bench.dock(QStringLiteral("firstDock"))->close();
        bench.window.addDockWidget(Qt::LeftDockWidgetArea, bench.dock(QStringLiteral("secondDock")));
        bench.dock(QStringLiteral("engineLog"))->setWanted(true);
        QVERIFY(bench.window.close());
    }
    Bench bench(dir);
    QCOMPARE(bench.window.size(), QSize(1300, 800));
    QCOMPARE(bench.window.currentPage(), bench.first);
    QVERIFY(!bench.dock(QStringLiteral("firstDock"))->isVisible());
    QVERIFY(bench.dock(QStringLiteral("engineLog"))->isVisible());
    bench.window.showPage(bench.second);
    QVERIFY(bench.dock(QStringLiteral("secondDock"))->isVisible());
    QCOMPARE(bench.window.dockWidgetArea(bench.dock(QStringLiteral("secondDock"))), Qt::LeftDockWidgetArea);
}

void ShellTest::themeSwitchesFromTheMenu()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QAction *light = nullptr;
    for (QAction *action : bench.window.findChildren<QAction *>())
        if (action->text().contains(QStringLiteral("Light")))
            light = action;
    QVERIFY(light);
    QVERIFY(!light->isChecked());
    light->trigger();
    QTRY_COMPARE(bench.theme.mode(), ui::Theme::Mode::Light);
    QVERIFY(light->isChecked());
}

void ShellTest::narrowWindowsShowIconsOnly()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    auto *pages = bench.window.findChild<ui::NavigationPanel *>();
    QVERIFY(pages);
    // What showing the window has queued must be through: a late "your size is 1440" would widen it again.
    QVERIFY(QTest::qWaitForWindowExposed(&bench.window));
    QCoreApplication::processEvents();
    QTRY_COMPARE(bench.window.width(), 1440);
    const int wide = pages->width();
    bench.window.resize(1100, 700);
    QTRY_COMPARE(bench.window.width(), 1100);
    QTRY_VERIFY2(pages->width() < 50, qPrintable(QString::number(pages->width())));
    bench.window.resize(1440, 900);
    QTRY_COMPARE(pages->width(), wide);
}

void ShellTest::nothingAsksForMoreThanTheSmallestWindow()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    bench.dock(QStringLiteral("engineLog"))->setWanted(true);
    bench.window.resize(1100, 700);
    QCoreApplication::processEvents();
    QCOMPARE(bench.window.size(), QSize(1100, 700));
    QVERIFY(bench.window.minimumSizeHint().width() <= 1100);
    QVERIFY(bench.window.minimumSizeHint().height() <= 700);
}

void ShellTest::aFailedEngineIsToldWithAWayOut()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    auto *banner = bench.window.findChild<ui::Banner *>();
    QVERIFY(banner && !banner->isVisible());
    bench.engine.start(); // no program, no model
    QVERIFY(banner->isVisible());
    QVERIFY(banner->text().cause.contains(QStringLiteral("slipway-engine")));
    QVERIFY(banner->findChildren<QPushButton *>().size() >= 2); // start again, copy details
    QString error;
    bench.endpoints.setCurrentRow(bench.endpoints.add({}, QStringLiteral("http://127.0.0.1:9"), {}, &error));
    QVERIFY(!banner->isVisible()); // another target does not care
}

void ShellTest::namesForScreenReadersAreUnique()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    bench.dock(QStringLiteral("engineLog"))->setWanted(true);
    QHash<QString, const QWidget *> names;
    for (const QWidget *widget : bench.window.findChildren<QWidget *>()) {
        if (!widget->isVisible() || !(widget->focusPolicy() & Qt::TabFocus)
            || widget->accessibleName().isEmpty())
            continue;
        QVERIFY2(!names.contains(widget->accessibleName()), qPrintable(widget->accessibleName()));
        names.insert(widget->accessibleName(), widget);
    }
    QVERIFY(names.size() > 6);
}

void ShellTest::aTargetIsAddedByKeyboardAndAWrongUrlIsSaid()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    ui::AddTargetDialog dialog(bench.theme, bench.endpoints, &bench.window);
    dialog.show();
    QVERIFY(QTest::qWaitForWindowActive(&dialog));
    QVERIFY(dialog.focusWidget());
    QTest::keyClicks(dialog.focusWidget(), QStringLiteral("ftp://host"));
    QTest::keyClick(&dialog, Qt::Key_Return);
    QVERIFY(dialog.isVisible()); // refused, and why
    auto *error = dialog.findChild<ui::StateLabel *>();
    QVERIFY(error && error->isVisible());
    QVERIFY2(error->word().contains(QStringLiteral("http")), qPrintable(error->word()));
    auto *url = qobject_cast<QLineEdit *>(dialog.focusWidget());
    QVERIFY(url);
    url->selectAll();
    QTest::keyClicks(url, QStringLiteral("lab.example:8000"));
    QTest::keyClick(url, Qt::Key_Tab);
    QTest::keyClicks(dialog.focusWidget(), QStringLiteral("Lab"));
    QTest::keyClick(dialog.focusWidget(), Qt::Key_Return);
    QVERIFY(!dialog.isVisible());
    QCOMPARE(bench.endpoints.current().name, QStringLiteral("Lab"));
    QCOMPARE(bench.endpoints.current().baseUrl, QUrl(QStringLiteral("http://lab.example:8000/v1")));
}

void ShellTest::helpListsTheKeys()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    QVERIFY(QTest::qWaitForWindowActive(&bench.window));
    QTest::keyClick(bench.window.windowHandle(), Qt::Key_F1);
    auto *text = bench.window.findChild<QTextBrowser *>();
    QVERIFY(text);
    QVERIFY(text->isVisible());
    for (const char *key : {"F6", "Ctrl+K", "Ctrl+4", "Esc", "Ctrl+Enter"})
        QVERIFY2(text->toPlainText().contains(QLatin1String(key)), key);
    QTest::keyClick(text->window(), Qt::Key_Escape);
    QTRY_VERIFY(!bench.window.findChild<QTextBrowser *>());
}

void ShellTest::theLogTellsItsLinesToScreenReadersAndFindsThem()
{
    const QTemporaryDir dir;
    Bench bench(dir);
    bench.dock(QStringLiteral("engineLog"))->setWanted(true);
    auto *view = bench.window.findChild<ui::LogView *>();
    QVERIFY(view);
    for (int i = 0; i < 20000; ++i)
        bench.log.append("line " + QByteArray::number(i) + (i % 1000 == 0 ? " rare\n" : "\n"));
    QTRY_VERIFY(!view->isSearching());
    QAccessibleInterface *access = QAccessible::queryAccessibleInterface(view);
    QVERIFY(access && access->childCount() > 0);
    QTRY_COMPARE(access->child(access->childCount() - 1)->text(QAccessible::Name),
                 QStringLiteral("line 19999"));
    QVERIFY(view->setFilter(QStringLiteral("RARE")));
    QTRY_VERIFY(!view->isSearching());
    QCOMPARE(view->shownCount(), 20);
    bench.log.append("one more rare\n");
    QTRY_COMPARE(view->shownCount(), 21);
    QVERIFY(!view->setFilter(QStringLiteral("("), true));
    QCOMPARE(view->shownCount(), 21);
}

QTEST_MAIN(ShellTest)
#include "tst_shell.moc"
