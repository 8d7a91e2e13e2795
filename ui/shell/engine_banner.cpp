#include "ui/shell/engine_banner.h"

#include "models/engine/endpoint_list.h"
#include "models/engine/local_engine.h"
#include "models/engine/model_pull.h"
#include "models/log/log_buffer.h"
#include "ui/widgets/banner.h"

#include <QCoreApplication>
#include <QDateTime>

namespace ui {

namespace {
constexpr int LogLinesInDetails = 40;
using Engine = models::LocalEngine;
} // namespace

EngineBanner::EngineBanner(Banner &banner, models::EndpointList &endpoints, models::LocalEngine &engine,
                           models::LogBuffer &log, models::ModelPull &pull, std::function<void()> showLog,
                           QObject *parent)
    : QObject(parent), m_banner(banner), m_endpoints(endpoints), m_engine(engine), m_log(log), m_pull(pull),
      m_showLog(std::move(showLog))
{
    connect(&endpoints, &models::EndpointList::currentChanged, this, &EngineBanner::update);
    connect(&engine, &Engine::stateChanged, this, &EngineBanner::update);
    connect(&pull, &models::ModelPull::progressChanged, this, &EngineBanner::update);
    connect(&pull, &models::ModelPull::finished, this, [this](const QString &error, bool isCancelled) {
        update();
        if (error.isEmpty()) {
            m_engine.start();
            return;
        }
        m_banner.showText(
            {isCancelled ? State::Warn : State::Err,
             tr("The model %1 was not fetched.").arg(m_pull.modelName()), error, details()},
            {{tr("Try again"), [this] { m_pull.start(m_pull.modelName()); }}, {tr("Show log"), m_showLog}});
    });
    update();
}

void EngineBanner::update()
{
    if (m_endpoints.current().kind != models::Endpoint::Kind::LocalEngine)
        m_banner.dismiss();
    else if (m_pull.isRunning())
        showPull();
    else if (m_engine.state() == Engine::State::Failed)
        showFailure();
    else if (m_engine.state() == Engine::State::Stopped && !m_engine.reason().isEmpty())
        m_banner.showText({State::Warn, tr("The local engine is stopped: nothing can answer here."), {}, {}},
                          {{tr("Start the engine"), [this] { m_engine.start(); }}});
    else
        m_banner.dismiss();
}

void EngineBanner::showPull()
{
    QString progress = m_pull.lastLine().isEmpty() ? tr("asking for it") : m_pull.lastLine();
    if (m_pull.percent() >= 0)
        progress = tr("%1 %").arg(m_pull.percent());
    m_banner.showText({State::Run, tr("Fetching the model %1: %2").arg(m_pull.modelName(), progress), {}, {}},
                      {{tr("Cancel"), [this] { m_pull.cancel(); }}});
}

void EngineBanner::showFailure()
{
    QList<BannerFix> fixes;
    QString what = tr("The local engine does not run.");
    switch (m_engine.failure()) {
    case Engine::Failure::NoModel:
        what = tr("The local engine has no model to serve.");
        fixes.append({tr("Fetch %1").arg(m_engine.options().servedName),
                      [this] { m_pull.start(m_engine.options().servedName); }});
        break;
    case Engine::Failure::NeverReady:
        what = tr("The local engine did not become ready.");
        fixes.append({tr("Start again"), [this] { m_engine.restart(); }});
        break;
    default:
        fixes.append({tr("Start again"), [this] { m_engine.start(); }});
    }
    if (m_log.lineCount() > 0)
        fixes.append({tr("Show log"), m_showLog});
    m_banner.showText({State::Err, what, m_engine.reason(), details()}, fixes);
}

QString EngineBanner::details() const
{
    return QStringLiteral("%1\nSlipway %2\n%3\n%4\n\n%5\n")
        .arg(QDateTime::currentDateTime().toString(Qt::ISODate), QCoreApplication::applicationVersion(),
             m_engine.options().modelPath, m_engine.reason(), m_log.tail(LogLinesInDetails));
}

} // namespace ui
