#include "app/slipway/pages.h"

#include "app/slipway/services.h"
#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/metrics/metrics_controller.h"
#include "ui/pages/chat/chat_page.h"
#include "ui/pages/metrics/metrics_page.h"
#include "ui/shell/main_window.h"

#include <QDir>
#include <QStandardPaths>
#include <QStringList>
#include <utility>

namespace app {

namespace {

constexpr double FirstRange = 15 * 60; // seconds; an hour would be an empty page for most of an hour
constexpr double PictureRange = 60;

QString dataFile(const char *name)
{
    const QDir dir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation));
    dir.mkpath(QStringLiteral("."));
    return dir.filePath(QString::fromLatin1(name));
}

models::MetricsOptions metricsOptions()
{
    models::MetricsOptions options;
    options.historyPath = dataFile("metrics.sqlite");
    return options;
}

models::MetricsEndpoint metricsOf(const models::Endpoint &endpoint)
{
    if (!endpoint.isUsable())
        return {endpoint.name, {}, {}};
    return {endpoint.name, endpoint.route(QStringLiteral("/metrics")).toString(QUrl::FullyEncoded),
            endpoint.apiKey};
}

models::ChatEndpoint chatOf(const models::Endpoint &endpoint)
{
    return {endpoint.name, endpoint.isUsable() ? endpoint.baseUrl.toString(QUrl::FullyEncoded) : QString(),
            endpoint.apiKey};
}

} // namespace

struct Pages::Parts
{
    explicit Parts(Services &given)
        : services(given), library(dataFile("conversations.sqlite")), chat(given.jobs, given.http, library),
          metrics(given.jobs, metricsOptions())
    {
        metrics.setRange(FirstRange);
    }

    void followTarget(ui::MetricsPage &metricsPage);
    void askNext();

    Services &services;
    QString followedId; // The target that the Metrics page was last given
    models::ChatLibrary library;
    models::ChatController chat;
    models::MetricsController metrics;
    QStringList questions; // still to be asked for the pictures
    std::function<void()> asked;
};

Pages::Pages(Services &services) : m_parts(std::make_unique<Parts>(services)) {}

Pages::~Pages() = default;

/// All pages work with the target that the shell's chooser shows.
void Pages::Parts::followTarget(ui::MetricsPage &metricsPage)
{
    QList<models::MetricsEndpoint> known;
    for (int row = 0; row < services.endpoints.rowCount(); ++row) {
        const models::MetricsEndpoint endpoint = metricsOf(services.endpoints.at(row));
        if (!endpoint.url.isEmpty())
            known.append(endpoint);
    }
    metricsPage.setEndpoints(known);
    // A server that was picked on the Metrics page alone stays until another target is chosen.
    models::MetricsEndpoint watched = metricsOf(services.endpoints.current());
    if (metrics.endpoint().name == watched.name)
        watched.model = metrics.endpoint().model;
    const QString currentId = services.endpoints.current().id;
    if (currentId != followedId || metrics.endpoint().name == watched.name)
        metrics.setEndpoint(watched);
    followedId = currentId;
    chat.setEndpoint(chatOf(services.endpoints.current()));
}

void Pages::addTo(ui::MainWindow &window)
{
    Services &services = m_parts->services;
    auto *metricsPage = new ui::MetricsPage(m_parts->metrics, services.theme);
    auto *chatPage = new ui::ChatPage(m_parts->chat, services.theme);
    window.addPage(chatPage);
    window.addPage(metricsPage);
    QObject::connect(chatPage, &ui::ChatPage::endpointRequested, &services.engine,
                     &models::LocalEngine::start);

    const auto follow = [parts = m_parts.get(), metricsPage] { parts->followTarget(*metricsPage); };
    QObject::connect(&services.endpoints, &models::EndpointList::currentChanged, metricsPage, follow);
    QObject::connect(&services.endpoints, &QAbstractItemModel::rowsInserted, metricsPage, follow);
    QObject::connect(&services.endpoints, &QAbstractItemModel::rowsRemoved, metricsPage, follow);
    follow();
    m_parts->library.open();
}

void Pages::Parts::askNext()
{
    if (chat.models().isEmpty() || chat.isBusy())
        return; // called again when that changes
    if (questions.size() > 1)
        chat.newConversation(); // the last one is a follow-up
    if (!questions.isEmpty())
        chat.send(questions.takeFirst());
    else if (asked)
        std::exchange(asked, {})();
}

void Pages::askForPictures(std::function<void()> done)
{
    Parts &parts = *m_parts;
    parts.asked = std::move(done);
    parts.questions = {QStringLiteral("Write a haiku about the sea."),
                       QStringLiteral("Explain what a cache is."),
                       QStringLiteral("Write a letter of thanks to a colleague."),
                       QStringLiteral("Describe how bread is made."),
                       QStringLiteral("Translate good morning to French."),
                       QStringLiteral("Tell a short story about a lighthouse."),
                       QStringLiteral("List five large rivers."),
                       QStringLiteral("Write a Python function that adds two numbers, and explain it.")};
    parts.metrics.setRange(PictureRange);
    models::ChatParameters parameters;
    parameters.temperature = 0;
    parameters.seed = 7;
    parameters.maxTokens = 220;
    parts.chat.setParameters(parameters);
    QObject::connect(&parts.chat, &models::ChatController::modelsChanged, &parts.chat,
                     [&parts] { parts.askNext(); });
    QObject::connect(
        &parts.chat, &models::ChatController::answered, &parts.chat, [&parts] { parts.askNext(); },
        Qt::QueuedConnection);
    parts.askNext();
}

} // namespace app
