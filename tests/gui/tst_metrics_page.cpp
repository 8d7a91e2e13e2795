#include "models/bridge/job_runner.h"
#include "models/metrics/metrics_controller.h"
#include "tests/support/loopback_server.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/metric_chart.h"
#include "ui/charts/plot_area.h"
#include "ui/pages/metrics/metrics_page.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/segmented_buttons.h"

#include <QComboBox>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <atomic>

namespace {
class Watched
{
public:
    Watched()
        : server([this](tests::Exchange &exchange) {
              ++scrapes;
              exchange.respond(status, "text/plain",
                               "# TYPE vllm:num_requests_running gauge\n"
                               "vllm:num_requests_running{model_name=\"tiny\"} 7\n"
                               "# TYPE vllm:num_requests_waiting gauge\n"
                               "vllm:num_requests_waiting{model_name=\"tiny\"} 2\n");
          })
    {
        models::MetricsOptions options;
        options.historyPath = folder.filePath(QStringLiteral("metrics.sqlite"));
        options.interval = std::chrono::milliseconds(50);
        controller = std::make_unique<models::MetricsController>(jobs, options);
        page = std::make_unique<ui::MetricsPage>(*controller, theme);
        page->resize(1200, 760);
        page->show();
    }
    void watch()
    {
        page->setEndpoints({{QStringLiteral("local"), QString::fromStdString(server.url()), {}}});
    }
    [[nodiscard]] ui::MetricChart *chart(const char *id) const
    {
        return page->findChild<ui::MetricChart *>(QStringLiteral("chart-") + QLatin1String(id));
    }

    QTemporaryDir folder;
    std::atomic<int> status = 200;
    std::atomic<int> scrapes = 0;
    tests::LoopbackServer server;
    ui::Theme theme;
    models::JobRunner jobs;
    std::unique_ptr<models::MetricsController> controller;
    std::unique_ptr<ui::MetricsPage> page;
};
} // namespace

class MetricsPageTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("slipway-tests"));
        QCoreApplication::setApplicationName(QStringLiteral("metrics-page"));
    }
    void init() { QSettings().clear(); }

    void withoutAServerThereIsOneSentenceAndOneAction()
    {
        const Watched watched;
        QVERIFY(watched.page->findChild<ui::EmptyState *>()->isVisible());
        QVERIFY(!watched.chart("requests")->isVisible());
    }

    void valuesReachTheChartsAndMissingOnesAreExplained()
    {
        Watched watched;
        watched.watch();
        QTRY_COMPARE(watched.chart("requests")->seriesText(0), QStringLiteral("running 7"));
        QVERIFY(watched.chart("requests")->plotArea().hasValues());
        QVERIFY(!watched.chart("ttft")->plotArea().hasValues());
        QVERIFY(watched.chart("ttft")->plotArea().data().whyEmpty.contains(QStringLiteral("not exported")));
        const auto *chooser = watched.page->findChild<QComboBox *>();
        QTRY_COMPARE(chooser->currentText(), QStringLiteral("local · tiny"));
    }

    void aFailureIsABannerAndGoesWithTheNextPage()
    {
        Watched watched;
        watched.status = 503;
        watched.watch();
        auto *banner = watched.page->findChild<ui::Banner *>();
        QTRY_VERIFY(banner->isVisible());
        QVERIFY2(banner->text().cause.contains(QStringLiteral("Attempt")), qPrintable(banner->text().cause));
        QCOMPARE(watched.page->state(), ui::State::Err);
        watched.status = 200;
        watched.page->refresh();
        QTRY_VERIFY(!banner->isVisible());
        QCOMPARE(watched.page->state(), ui::State::None);
    }

    void draggingLooksBackAndADoubleClickReturnsToLive()
    {
        Watched watched;
        watched.watch();
        QTRY_VERIFY(watched.chart("requests")->plotArea().hasValues());
        auto *area = const_cast<ui::PlotArea *>(&watched.chart("requests")->plotArea());
        area->grab();
        const auto *ranges = watched.page->findChild<ui::SegmentedButtons *>();
        const int live = ranges->current();
        QTest::mousePress(area, Qt::LeftButton, {}, {100, 60});
        QTest::mouseMove(area, {150, 60});
        QTest::mouseMove(area, {200, 60});
        QTest::mouseRelease(area, Qt::LeftButton, {}, {200, 60});
        QVERIFY(!watched.controller->isLive());
        QCOMPARE(ranges->current(), 5); // Custom
        QTest::mouseDClick(area, Qt::LeftButton, {}, {150, 60});
        QVERIFY(watched.controller->isLive());
        QCOMPARE(ranges->current(), live);
    }

    void rangeSegmentsSetWindowAndStep()
    {
        Watched watched;
        watched.watch();
        auto *ranges = watched.page->findChild<ui::SegmentedButtons *>();
        ranges->setCurrent(2);
        QCOMPARE(watched.controller->range(), 6 * 3600.0);
        QCOMPARE(watched.controller->step(), 60.0);
        ranges->setCurrent(0);
        QCOMPARE(watched.controller->range(), 900.0);
    }

    void aHiddenPageDoesNotDraw()
    {
        Watched watched;
        watched.watch();
        QTRY_VERIFY(watched.chart("requests")->plotArea().hasValues());
        watched.page->hide();
        QCoreApplication::processEvents();
        const auto &layer = watched.chart("requests")->plotArea().layer();
        const int replaced = layer.replaceCount();
        const int scrapes = watched.scrapes;
        QTRY_VERIFY(watched.scrapes > scrapes + 3);
        QCOMPARE(layer.replaceCount(), replaced);
        watched.page->show();
        QVERIFY(layer.replaceCount() > replaced);
    }

    void theUsersServersAreRemembered()
    {
        Watched watched;
        const QString url = QString::fromStdString(watched.server.url());
        watched.page->addServer(url);
        QTRY_VERIFY(watched.chart("requests")->plotArea().hasValues());
        models::MetricsController controller(watched.jobs, models::MetricsOptions());
        const ui::MetricsPage later(controller, watched.theme);
        QCOMPARE(controller.endpoint().url, url);
        watched.page->addServer(QStringLiteral("http://"));
        QVERIFY(watched.page->findChild<ui::Banner *>()->isVisible());
    }

    void aStoppedServerStaysInTheChooser()
    {
        Watched watched;
        watched.controller->setEndpoint({QStringLiteral("This workstation"), {}, {}});
        QCOMPARE(watched.page->findChild<QComboBox *>()->currentText(), QStringLiteral("This workstation"));
        QCOMPARE(watched.page->state(), ui::State::Paused);
        QVERIFY(watched.chart("requests")->isVisible());
    }

    void aNarrowPageHasFewerColumns()
    {
        Watched watched;
        watched.watch();
        watched.page->resize(700, 760);
        QCoreApplication::processEvents();
        QCOMPARE(watched.chart("tokens")->x(),
                 watched.chart("requests")->x()); // the third is below the first
        watched.page->resize(1200, 760);
        QCoreApplication::processEvents();
        QVERIFY(watched.chart("tokens")->x() > watched.chart("kv")->x());
    }
};

QTEST_MAIN(MetricsPageTest)
#include "tst_metrics_page.moc"
