#include "models/engine/endpoint_probe.h"

#include "cluster/net/http_client.h"
#include "models/engine/endpoint_list.h"

namespace models {

namespace {
constexpr auto AnswerLimit = std::chrono::seconds(4);
constexpr unsigned OthersEvery = 6;
} // namespace

struct EndpointProbe::Answer
{
    int status = 0; ///< 0: none
    QString error;
    std::chrono::milliseconds delay{0};
};

EndpointProbe::EndpointProbe(EndpointList &endpoints, JobRunner &jobs, cluster::HttpClient &http,
                             QObject *parent)
    : QObject(parent), m_endpoints(endpoints), m_jobs(jobs), m_http(http)
{
    connect(&m_timer, &QTimer::timeout, this, &EndpointProbe::tick);
    connect(&endpoints, &EndpointList::currentChanged, this, [this] {
        setDelay({});
        if (m_timer.isActive())
            probeNow();
    });
}

void EndpointProbe::start(std::chrono::milliseconds interval)
{
    m_timer.start(interval);
    tick();
}

void EndpointProbe::probeNow()
{
    probe(m_endpoints.currentRow());
}

void EndpointProbe::tick()
{
    const bool others = m_round++ % OthersEvery == 0;
    for (int row = 0; row < m_endpoints.rowCount(); ++row)
        if (others || row == m_endpoints.currentRow())
            probe(row);
}

void EndpointProbe::probe(int row)
{
    const Endpoint &endpoint = m_endpoints.at(row);
    if (!endpoint.isUsable() || m_running.value(endpoint.id).isActive())
        return;
    cluster::HttpRequest request;
    request.url = endpoint.route(QStringLiteral("/v1/models")).toString(QUrl::FullyEncoded).toStdString();
    if (!endpoint.apiKey.isEmpty())
        request.headers.push_back({"Authorization", "Bearer " + endpoint.apiKey.toStdString()});
    m_running[endpoint.id] = m_jobs.run(
        this,
        [&http = m_http, request](const JobContext &context) {
            cluster::HttpOptions options;
            options.deadline = cluster::Deadline::after(AnswerLimit);
            options.cancel = context.stopToken();
            const auto begin = std::chrono::steady_clock::now();
            const auto response = http.send(request, options);
            Answer answer;
            answer.delay = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - begin);
            if (response)
                answer.status = response->status;
            else
                answer.error = QString::fromStdString(response.error().message);
            return answer;
        },
        [this, id = endpoint.id](const Answer &answer) { onAnswer(id, answer); });
}

void EndpointProbe::onAnswer(const QString &id, const Answer &answer)
{
    const int row = m_endpoints.rowOf(id);
    if (row < 0 || !m_endpoints.at(row).isUsable()) // removed, or the engine ended meanwhile
        return;
    const bool answers = answer.status >= 200 && answer.status < 300;
    if (row == m_endpoints.currentRow())
        setDelay(answers ? std::optional(answer.delay) : std::nullopt);
    if (answers)
        m_endpoints.setState(id, TargetState::Ready, {});
    else if (answer.status == 401 || answer.status == 403)
        m_endpoints.setState(id, TargetState::Failed,
                             tr("It refuses the API key (HTTP %1).").arg(answer.status));
    else if (answer.status == 503)
        m_endpoints.setState(id, TargetState::Starting, tr("It is starting, or busy (HTTP 503)."));
    else if (answer.status != 0)
        m_endpoints.setState(id, TargetState::Failed,
                             tr("It answered HTTP %1 to /v1/models.").arg(answer.status));
    else
        m_endpoints.setState(id, TargetState::Failed, answer.error);
}

void EndpointProbe::setDelay(std::optional<std::chrono::milliseconds> delay)
{
    if (delay == m_delay)
        return;
    m_delay = delay;
    emit delayChanged();
}

} // namespace models
