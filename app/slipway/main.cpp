#include "app/slipway/pages.h"
#include "app/slipway/screenshots.h"
#include "app/slipway/services.h"
#include "app/slipway/stall_watch.h"
#include "app/slipway/startup_report.h"
#include "ui/shell/main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QTemporaryDir>
#include <QTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>

namespace {

app::Arguments parseArguments(const QApplication &application)
{
    QCommandLineParser parser;
    parser.setApplicationDescription(QStringLiteral(
        "The Slipway window: chat with a model that this workstation or any OpenAI-compatible server "
        "serves, and watch its metrics."));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption model(QStringLiteral("model"),
                                   QStringLiteral("Serve this GGUF file with the local engine."),
                                   QStringLiteral("FILE"));
    const QCommandLineOption noEngine(QStringLiteral("no-engine"),
                                      QStringLiteral("Do not start the local engine by itself."));
    const QCommandLineOption shots(
        QStringLiteral("screenshot"),
        QStringLiteral("Write a PNG of each page, dark and light, into DIR, and quit."),
        QStringLiteral("DIR"));
    const QCommandLineOption report(QStringLiteral("startup-report"),
                                    QStringLiteral("Print first_paint_ms and rss_mb as JSON, and quit."));
    parser.addOptions({model, noEngine, shots, report});
    parser.process(application);
    app::Arguments arguments;
    arguments.modelPath = parser.value(model);
    arguments.screenshotsDir = parser.value(shots);
    arguments.isStartupReport
        = parser.isSet(report) || qEnvironmentVariableIntValue("SLIPWAY_STARTUP_REPORT") == 1;
    arguments.startsEngine = !parser.isSet(noEngine) && !arguments.isStartupReport;
    return arguments;
}

/// The engine is needed as soon as this workstation is the target; not before the first picture stands.
void startEngineWhenNeeded(app::Services &services)
{
    const auto startIfCurrent = [&services] {
        const bool isLocal = services.endpoints.current().kind == models::Endpoint::Kind::LocalEngine;
        const bool isUntouched = services.engine.state() == models::LocalEngine::State::Stopped
            && services.engine.reason().isEmpty(); // stopped by the user stays stopped
        if (isLocal && isUntouched)
            services.engine.start();
    };
    QObject::connect(&services.endpoints, &models::EndpointList::currentChanged, &services.engine,
                     startIfCurrent, Qt::QueuedConnection);
    QTimer::singleShot(0, &services.engine, startIfCurrent);
}

} // namespace

int main(int argc, char **argv)
{
    // --help and --version are for machines without a display too.
    const auto wantsText = [](std::string_view word) {
        return word == "-h" || word == "--help" || word == "-v" || word == "--version";
    };
    if (std::any_of(argv + 1, argv + argc, wantsText) && !qEnvironmentVariableIsSet("DISPLAY")
        && !qEnvironmentVariableIsSet("WAYLAND_DISPLAY") && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("slipway"));
    QApplication::setApplicationDisplayName(QStringLiteral("Slipway"));
    QApplication::setApplicationVersion(QStringLiteral(SLIPWAY_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("slipway"));
    const app::Arguments arguments = parseArguments(application);

    // Pictures show a fresh window, and leave the user's conversations and settings alone.
    std::unique_ptr<QTemporaryDir> picturesHome;
    if (!arguments.screenshotsDir.isEmpty()) {
        picturesHome = std::make_unique<QTemporaryDir>();
        for (const char *place : {"XDG_DATA_HOME", "XDG_CONFIG_HOME"})
            qputenv(place, picturesHome->filePath(QLatin1String(place)).toLocal8Bit());
    }

    app::Services services(arguments);
    services.theme.applyToApplication();
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/theme/slipway.svg")));
    std::unique_ptr<app::StallWatch> stallWatch;
    if (qEnvironmentVariableIntValue("SLIPWAY_STALL_REPORT") == 1)
        stallWatch = std::make_unique<app::StallWatch>();

    int code = 0;
    {
        app::Pages pages(services);
        ui::MainWindow window({services.theme, services.settings, services.endpoints, services.probe,
                               services.engine, services.engineLog, services.pull});
        pages.addTo(window);
        QObject::connect(
            &services.secrets, &models::SecretStore::warning, &window, [&window](const QString &text) {
                window.showWarning(QApplication::translate("app", "API keys are not in a keyring."), text);
            });
        window.restoreLayout();
        window.show();
        if (arguments.isStartupReport) {
            new app::StartupReport(window);
        } else {
            services.probe.start();
            if (arguments.startsEngine)
                startEngineWhenNeeded(services);
        }
        if (!arguments.screenshotsDir.isEmpty())
            (new app::Screenshots(
                 window, services.theme, services.engine, arguments.screenshotsDir,
                 [&pages](std::function<void()> done) { pages.askForPictures(std::move(done)); }))
                ->start();
        code = QApplication::exec();
    }
    services.engine.shutDown();
    return code;
}
