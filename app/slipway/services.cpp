#include "app/slipway/services.h"

#include "cluster/modelstore/model_store.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace app {

namespace {

const QString DefaultModel = QStringLiteral("smollm2-135m-instruct");

/// The default model's file; where it would be looked for, if it is not on this machine yet.
QString defaultModelPath()
{
    const std::filesystem::path folder = cluster::defaultModelFolder();
    auto catalogue = cluster::ModelCatalogue::builtIn();
    if (catalogue) {
        const cluster::ModelStore store(folder, std::move(*catalogue));
        const auto model = store.find(DefaultModel.toStdString());
        if (model && model->isInstalled())
            return QString::fromStdString(model->path.string());
    }
    return QString::fromStdString((folder / (DefaultModel.toStdString() + ".gguf")).string());
}

models::LocalEngineOptions engineOptions(const Arguments &arguments)
{
    models::LocalEngineOptions options;
    options.program = models::LocalEngine::findProgramBeside(QStringLiteral("slipway-engine"));
    options.arguments = {QStringLiteral("--enable-prompt-tokens-details")}; // "Prefix cache hit" of an answer
    if (arguments.modelPath.isEmpty()) {
        options.modelPath = defaultModelPath();
        options.servedName = DefaultModel;
    } else {
        options.modelPath = QFileInfo(arguments.modelPath).absoluteFilePath();
        options.servedName = QFileInfo(arguments.modelPath).completeBaseName();
    }
    return options;
}

QString secretsPath()
{
    return QStandardPaths::writableLocation(QStandardPaths::AppConfigLocation) + QStringLiteral("/keys.json");
}

} // namespace

Services::Services(const Arguments &arguments)
    : settings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("slipway"),
               QStringLiteral("slipway")),
      theme(settings.value(QStringLiteral("window/theme")).toString() == QLatin1String("light")
                ? ui::Theme::Mode::Light
                : ui::Theme::Mode::Dark),
      secrets(secretsPath()), engine(jobs, http, engineLog), endpoints(settings, secrets),
      probe(endpoints, jobs, http),
      pull(models::LocalEngine::findProgramBeside(QStringLiteral("slipwayctl")), engineLog)
{
    theme.setZoom(settings.value(QStringLiteral("window/zoom"), 100).toInt());
    QObject::connect(&theme, &ui::Theme::changed, &settings, [this] {
        settings.setValue(QStringLiteral("window/theme"),
                          theme.mode() == ui::Theme::Mode::Light ? QStringLiteral("light")
                                                                 : QStringLiteral("dark"));
        settings.setValue(QStringLiteral("window/zoom"), theme.zoom());
    });
    engine.setOptions(engineOptions(arguments));
    QObject::connect(&pull, &models::ModelPull::finished, &engine,
                     [this, arguments] { engine.setOptions(engineOptions(arguments)); });
    endpoints.follow(engine);
}

} // namespace app
