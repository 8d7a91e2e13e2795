#include "models/engine/local_engine.h"

#include "cluster/net/free_port.h"
#include "cluster/net/http_client.h"
#include "models/engine/child_process.h"
#include "models/log/log_buffer.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace models {

namespace {

constexpr auto HealthLimit = std::chrono::seconds(2);
constexpr int PortTakenCode = 4; // slipway-engine: "address or port"
constexpr int ReasonLines = 400; // characters of the engine's last line that a banner can hold

/// The last line that says something, for "why did it end".
QString lastWords(const LogBuffer &log, int fromLine)
{
    for (int i = log.lineCount() - 1; i >= qMax(0, fromLine); --i) {
        const QString line = QString::fromUtf8(log.line(i)).trimmed();
        if (!line.isEmpty())
            return line.left(ReasonLines);
    }
    return {};
}

} // namespace

LocalEngine::LocalEngine(JobRunner &jobs, cluster::HttpClient &http, LogBuffer &log, QObject *parent)
    : QObject(parent), m_jobs(jobs), m_http(http), m_log(log)
{
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.setStandardInputFile(QProcess::nullDevice());
    endWithThisProcess(m_process);
    connect(&m_process, &QProcess::readyRead, this, [this] { m_log.append(m_process.readAll()); });
    connect(&m_process, &QProcess::finished, this, &LocalEngine::onFinished);
    connect(&m_process, &QProcess::errorOccurred, this, &LocalEngine::onProcessError);
    m_pollTimer.setSingleShot(true);
    connect(&m_pollTimer, &QTimer::timeout, this, &LocalEngine::poll);
    m_killTimer.setSingleShot(true);
    connect(&m_killTimer, &QTimer::timeout, this, &LocalEngine::kill);
}

LocalEngine::~LocalEngine()
{
    shutDown();
}

void LocalEngine::setOptions(LocalEngineOptions options)
{
    m_options = std::move(options);
}

QString LocalEngine::findProgramBeside(const QString &name)
{
    const QFileInfo beside(QDir(QCoreApplication::applicationDirPath()), name);
    return beside.isExecutable() ? beside.absoluteFilePath() : QStandardPaths::findExecutable(name);
}

QUrl LocalEngine::baseUrl() const
{
    return m_state == State::Ready ? QUrl(QStringLiteral("http://127.0.0.1:%1/v1").arg(m_port)) : QUrl();
}

void LocalEngine::setState(State state, Failure failure, const QString &reason)
{
    if (state == m_state && failure == m_failure && reason == m_reason)
        return;
    m_state = state;
    m_failure = failure;
    m_reason = reason;
    emit stateChanged();
}

void LocalEngine::start()
{
    if (m_state == State::Starting || m_state == State::Ready)
        return;
    if (m_process.state() != QProcess::NotRunning) { // still ending: again when it has
        m_startsAgain = true;
        return;
    }
    if (m_options.program.isEmpty() || !QFileInfo(m_options.program).isExecutable()) {
        setState(State::Failed, Failure::NoProgram,
                 tr("The program slipway-engine is neither beside this one nor on PATH: install it, or build "
                    "it."));
        return;
    }
    const QFileInfo model(m_options.modelPath);
    if (m_options.modelPath.isEmpty() || !model.isReadable() || !model.isFile()) {
        setState(State::Failed, Failure::NoModel,
                 m_options.modelPath.isEmpty()
                     ? tr("No model has been chosen.")
                     : tr("The model file %1 is not there or can't be read.").arg(m_options.modelPath));
        return;
    }
    m_attemptsLeft = m_options.portAttempts;
    launch();
}

void LocalEngine::launch()
{
    --m_attemptsLeft;
    m_isStopping = false;
    m_port = cluster::freeLoopbackPort();
    QStringList arguments{QStringLiteral("serve"),     m_options.modelPath,      QStringLiteral("--host"),
                          QStringLiteral("127.0.0.1"), QStringLiteral("--port"), QString::number(m_port)};
    if (!m_options.servedName.isEmpty())
        arguments << QStringLiteral("--served-model-name") << m_options.servedName;
    arguments << m_options.arguments;
    m_log.appendLine(QStringLiteral("$ %1 %2").arg(m_options.program, arguments.join(u' ')));
    m_clock.start();
    setState(State::Starting, Failure::None, tr("Loading %1").arg(QFileInfo(m_options.modelPath).fileName()));
    m_process.start(m_options.program, arguments);
    m_pollTimer.start(m_options.pollInterval);
}

void LocalEngine::poll()
{
    if (m_state != State::Starting || m_process.state() == QProcess::NotRunning)
        return;
    if (std::chrono::milliseconds(m_clock.elapsed()) > m_options.startLimit) {
        setState(State::Failed, Failure::NeverReady,
                 tr("The engine did not become ready within %1 s. Its last line: %2")
                     .arg(m_options.startLimit.count() / 1000.0)
                     .arg(lastWords(m_log, 0)));
        m_isStopping = true; // the end that follows is our doing
        kill();
        return;
    }
    const auto url = QStringLiteral("http://127.0.0.1:%1/health").arg(m_port).toStdString();
    m_health = m_jobs.run(
        this,
        [&http = m_http, url](const JobContext &context) {
            cluster::HttpRequest request;
            request.url = url;
            cluster::HttpOptions options;
            options.deadline = cluster::Deadline::after(HealthLimit);
            options.cancel = context.stopToken();
            const auto response = http.send(request, options);
            return response && response->status == 200;
        },
        [this](bool isHealthy) { onHealth(isHealthy); });
}

void LocalEngine::onHealth(bool isHealthy)
{
    if (m_state != State::Starting || m_process.state() != QProcess::Running)
        return;
    if (!isHealthy) {
        m_pollTimer.start(m_options.pollInterval);
        return;
    }
    m_startTime = std::chrono::milliseconds(m_clock.elapsed());
    setState(State::Ready, Failure::None, {});
}

void LocalEngine::onProcessError(QProcess::ProcessError error)
{
    if (error != QProcess::FailedToStart) // the others end in finished()
        return;
    m_pollTimer.stop();
    setState(State::Failed, Failure::NoProgram,
             tr("%1 could not be started: %2").arg(m_options.program, m_process.errorString()));
}

QString LocalEngine::whyItEnded(int exitCode, QProcess::ExitStatus status) const
{
    const QString how = status == QProcess::CrashExit ? tr("was ended by signal %1").arg(exitCode)
                                                      : tr("ended with code %1").arg(exitCode);
    const QString words = lastWords(m_log, 0);
    return words.isEmpty() ? tr("The engine %1 without a word.").arg(how)
                           : tr("The engine %1: %2").arg(how, words);
}

void LocalEngine::onFinished(int exitCode, QProcess::ExitStatus status)
{
    m_pollTimer.stop();
    m_killTimer.stop();
    m_health.cancel();
    m_log.append(m_process.readAll());
    m_log.finishLine();
    if (std::exchange(m_isStopping, false)) {
        if (m_state != State::Failed)
            setState(State::Stopped, Failure::None, tr("Stopped."));
        if (std::exchange(m_startsAgain, false))
            start();
        return;
    }
    const bool wasStarting = m_state == State::Starting;
    const QString why = whyItEnded(exitCode, status);
    const bool portTaken = wasStarting && status == QProcess::NormalExit && exitCode == PortTakenCode;
    if (portTaken && m_attemptsLeft > 0) {
        launch();
        return;
    }
    setState(State::Failed, portTaken ? Failure::PortTaken : Failure::Died, why);
}

void LocalEngine::stop()
{
    m_startsAgain = false;
    m_pollTimer.stop();
    m_health.cancel();
    if (m_process.state() == QProcess::NotRunning) {
        setState(State::Stopped, Failure::None, tr("Stopped."));
        return;
    }
    m_isStopping = true;
    m_process.terminate();
    m_killTimer.start(m_options.stopLimit);
    setState(State::Stopped, Failure::None, tr("Stopping."));
}

void LocalEngine::restart()
{
    stop();
    if (m_process.state() == QProcess::NotRunning)
        start();
    else
        m_startsAgain = true;
}

void LocalEngine::kill()
{
    if (m_process.state() != QProcess::NotRunning)
        m_process.kill();
}

void LocalEngine::shutDown()
{
    stop();
    if (m_process.state() == QProcess::NotRunning)
        return;
    if (!m_process.waitForFinished(int(m_options.stopLimit.count()))) {
        m_process.kill();
        m_process.waitForFinished(1000);
    }
}

} // namespace models
