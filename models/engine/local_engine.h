#pragma once

#include "models/bridge/job_runner.h"

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QTimer>
#include <QUrl>
#include <chrono>

namespace cluster {
class HttpClient;
}

namespace models {

class LogBuffer;

struct LocalEngineOptions
{
    QString program; ///< slipway-engine; see findProgramBeside()
    QString modelPath; ///< a GGUF file
    QString servedName; ///< the model's name in the API; empty: the engine's own choice
    QStringList arguments; ///< further flags of `slipway-engine serve`
    std::chrono::milliseconds startLimit{180000}; ///< a large model on a slow disk takes long
    std::chrono::milliseconds pollInterval{100}; ///< how often /health is asked while starting
    std::chrono::milliseconds stopLimit{3000}; ///< from the polite signal to the hard one
    int portAttempts = 3; ///< somebody else may take the port before the engine does
};

/// This workstation's engine: a child process that serves one model on a free loopback port. It dies with
/// this process, also when that is killed. Its output goes to the log.
class LocalEngine : public QObject
{
    Q_OBJECT

public:
    enum class State { Stopped, Starting, Ready, Failed };
    Q_ENUM(State)
    /// What Failed is about, so that the window can offer the right way out.
    enum class Failure { None, NoProgram, NoModel, PortTaken, Died, NeverReady };
    Q_ENUM(Failure)

    /// All outlive this.
    LocalEngine(JobRunner &jobs, cluster::HttpClient &http, LogBuffer &log, QObject *parent = nullptr);
    ~LocalEngine() override;

    void setOptions(LocalEngineOptions options); ///< for the next start
    [[nodiscard]] const LocalEngineOptions &options() const { return m_options; }

    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] Failure failure() const { return m_failure; }
    /// For a person: why it failed or was stopped, what it is doing while it starts.
    [[nodiscard]] const QString &reason() const { return m_reason; }
    /// "http://127.0.0.1:PORT/v1" while Ready, else empty.
    [[nodiscard]] QUrl baseUrl() const;
    [[nodiscard]] qint64 processId() const { return m_process.processId(); }
    [[nodiscard]] std::chrono::milliseconds startTime() const { return m_startTime; } ///< of the last start

    void start(); ///< nothing if it starts or is ready already
    void stop(); ///< returns at once
    void restart();
    /// Stops and waits, at most stopLimit and a little: for the end of the program.
    void shutDown();

    /// Beside this program, else on PATH; empty if there is none.
    static QString findProgramBeside(const QString &name);

signals:
    void stateChanged();

private:
    void launch();
    void poll();
    void onHealth(bool isHealthy);
    void onFinished(int exitCode, QProcess::ExitStatus status);
    void onProcessError(QProcess::ProcessError error);
    void setState(State state, Failure failure, const QString &reason);
    void kill();
    [[nodiscard]] QString whyItEnded(int exitCode, QProcess::ExitStatus status) const;

    JobRunner &m_jobs;
    cluster::HttpClient &m_http;
    LogBuffer &m_log;
    LocalEngineOptions m_options;
    QProcess m_process;
    QTimer m_pollTimer;
    QTimer m_killTimer;
    LatestJob m_health;
    QElapsedTimer m_clock;
    std::chrono::milliseconds m_startTime{0};
    State m_state = State::Stopped;
    Failure m_failure = Failure::None;
    QString m_reason;
    quint16 m_port = 0;
    int m_attemptsLeft = 0;
    bool m_isStopping = false;
    bool m_startsAgain = false;
};

} // namespace models
