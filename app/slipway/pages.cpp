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

namespace app {

namespace {

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
    }

    void followTarget(ui::MetricsPage &metricsPage);

    Services &services;
    models::ChatLibrary library;
    models::ChatController chat;
    models::MetricsController metrics;
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
    metrics.setEndpoint(metricsOf(services.endpoints.current()));
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

} // namespace app
