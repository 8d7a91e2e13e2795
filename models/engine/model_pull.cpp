#include "models/engine/model_pull.h"

#include "models/engine/child_process.h"
#include "models/log/log_buffer.h"

#include <QRegularExpression>

namespace models {

ModelPull::ModelPull(QString program, LogBuffer &log, QObject *parent)
    : QObject(parent), m_program(std::move(program)), m_log(log)
{
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    endWithThisProcess(m_process);
    connect(&m_process, &QProcess::readyRead, this, &ModelPull::readOutput);
    connect(&m_process, &QProcess::finished, this, &ModelPull::onFinished);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            emit finished(tr("%1 could not be started: %2").arg(m_program, m_process.errorString()), false);
    });
}

ModelPull::~ModelPull()
{
    m_process.disconnect(this);
    m_process.kill();
    m_process.waitForFinished(1000);
}

void ModelPull::start(const QString &modelName)
{
    if (isRunning())
        return;
    m_modelName = modelName;
    m_percent = -1;
    m_lastLine.clear();
    m_unread.clear();
    m_isCancelled = false;
    m_log.appendLine(QStringLiteral("$ %1 models pull %2").arg(m_program, modelName));
    m_process.start(m_program, {QStringLiteral("models"), QStringLiteral("pull"), modelName});
    emit progressChanged();
}

void ModelPull::cancel()
{
    m_isCancelled = isRunning();
    m_process.terminate();
}

// A progress line is written over itself with carriage returns on a terminal, or comes anew with each step.
void ModelPull::readOutput()
{
    static const QRegularExpression percent(QStringLiteral("(\\d{1,3})(?:\\.\\d+)? ?%"));
    m_unread += m_process.readAll();
    m_unread.replace('\r', '\n');
    qsizetype newline = 0;
    while ((newline = m_unread.indexOf('\n')) >= 0) {
        const QString line = QString::fromUtf8(m_unread.first(newline)).trimmed();
        m_unread.remove(0, newline + 1);
        if (line.isEmpty())
            continue;
        m_lastLine = line;
        const auto match = percent.match(line);
        if (match.hasMatch())
            m_percent = qMin(100, match.captured(1).toInt());
        else
            m_log.appendLine(line);
    }
    emit progressChanged();
}

void ModelPull::onFinished(int exitCode, QProcess::ExitStatus status)
{
    m_unread += '\n';
    readOutput();
    if (m_isCancelled)
        emit finished(tr("Cancelled. What has come so far is kept: the next try goes on from there."), true);
    else if (status == QProcess::NormalExit && exitCode == 0)
        emit finished({}, false);
    else
        emit finished(m_lastLine.isEmpty() ? tr("slipwayctl ended with code %1 without a word.").arg(exitCode)
                                           : m_lastLine,
                      false);
}

} // namespace models
