#pragma once

#include <QObject>
#include <QProcess>

namespace models {

class LogBuffer;

/// Gets a model into the store by `slipwayctl models pull NAME`, as a process: hashes, resuming and licences
/// are its business, here is its progress.
class ModelPull : public QObject
{
    Q_OBJECT

public:
    /// `program`: slipwayctl. `log` gets what it says and outlives this.
    ModelPull(QString program, LogBuffer &log, QObject *parent = nullptr);
    ~ModelPull() override;

    void start(const QString &modelName); ///< nothing while one runs
    void cancel();

    [[nodiscard]] bool isRunning() const { return m_process.state() != QProcess::NotRunning; }
    [[nodiscard]] const QString &modelName() const { return m_modelName; }
    [[nodiscard]] int percent() const { return m_percent; } ///< -1: not said yet
    [[nodiscard]] const QString &lastLine() const { return m_lastLine; }

signals:
    void progressChanged();
    /// `error` is empty when the model is there now; "cancelled" is no error of its own: isCancelled.
    void finished(const QString &error, bool isCancelled);

private:
    void readOutput();
    void onFinished(int exitCode, QProcess::ExitStatus status);

    QString m_program;
    LogBuffer &m_log;
    QProcess m_process;
    QString m_modelName;
    QString m_lastLine;
    QByteArray m_unread;
    int m_percent = -1;
    bool m_isCancelled = false;
};

} // namespace models
