#pragma once

#include "models/bridge/job_runner.h"

#include <QHash>
#include <QObject>
#include <QTimer>
#include <chrono>

namespace cluster {
class HttpClient;
}

namespace models {

class EndpointList;

/// Asks the targets now and then whether they answer (GET /v1/models, which also proves the API key): the
/// current one every `interval`, the others every sixth time. Tells the list, and measures the delay of the
/// current one.
class EndpointProbe : public QObject
{
    Q_OBJECT

public:
    /// All outlive this.
    EndpointProbe(EndpointList &endpoints, JobRunner &jobs, cluster::HttpClient &http,
                  QObject *parent = nullptr);

    void start(std::chrono::milliseconds interval = std::chrono::seconds(5));
    void probeNow(); ///< the current one, at once

    /// Of the last answer of the current target; nothing while it does not answer.
    [[nodiscard]] std::optional<std::chrono::milliseconds> delay() const { return m_delay; }

signals:
    void delayChanged();

private:
    struct Answer;

    void tick();
    void probe(int row);
    void onAnswer(const QString &id, const Answer &answer);
    void setDelay(std::optional<std::chrono::milliseconds> delay);

    EndpointList &m_endpoints;
    JobRunner &m_jobs;
    cluster::HttpClient &m_http;
    QTimer m_timer;
    QHash<QString, Job> m_running;
    std::optional<std::chrono::milliseconds> m_delay;
    unsigned m_round = 0;
};

} // namespace models
