#include "cluster/local/runtimes/ray/dashboard.h"

#include "cluster/local/runtimes/ray/node_pages.h"
#include "cluster/local/runtimes/ray/ray_answers.h"
#include "cluster/local/runtimes/ray/serve_config.h"
#include "cluster/local/runtimes/ray/serve_details.h"
#include "cluster/local/runtimes/ray/state_pages.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *servePath = "/api/serve/applications/";

constexpr const char *rootPage
    = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"/><title>Ray Dashboard</title></head>"
      "<body><p>slipway-ray stands in for Ray on this machine: the dashboard's REST API is here, its pages "
      "are "
      "not.</p></body></html>";

bool isRead(const ServerRequest &request)
{
    return request.method == "GET" || request.method == "HEAD";
}

/// Pages that never change; null: another one.
json fixedPage(const std::string &path)
{
    if (path == "/api/authentication_mode")
        return {{"authentication_mode", "disabled"}};
    if (path == "/timezone")
        return {{"offset", "+00:00"}, {"value", "Etc/UTC"}};
    if (path == "/usage_stats_enabled")
        return {{"result", true},
                {"msg", "Fetched usage stats enabled"},
                {"data", {{"usageStatsEnabled", false}, {"usageStatsPromptEnabled", true}}}};
    if (path == "/api/component_activities")
        return {{"driver",
                 {{"is_active", "INACTIVE"},
                  {"reason", nullptr},
                  {"timestamp", secondsSinceEpoch()},
                  {"last_activity_at", nullptr}}}};
    return {};
}

/// Of an exchange that answers later: the answer goes with its last owner otherwise.
ServerResponse emptyAnswer()
{
    return {200, {}, ""};
}

} // namespace

RayDashboard::RayDashboard(DashboardFacts facts, const NodeTable &nodes, ServeController &serve,
                           RayJobs &jobs)
    : m_facts(std::move(facts)), m_nodes(nodes), m_serve(serve), m_jobs(jobs)
{
}

RayResources RayDashboard::used(const std::string &node) const
{
    return m_serve.usedOn(node);
}

void RayDashboard::handle(const std::shared_ptr<ServerExchange> &exchange)
{
    const ServerRequest &request = exchange->request();
    if (request.path == servePath && request.method == "DELETE") {
        m_serve.shutDown(m_facts.now(), [exchange] { exchange->reply(emptyAnswer()); });
        return;
    }
    exchange->reply(answer(request));
}

ServerResponse RayDashboard::answer(const ServerRequest &request)
{
    const std::string &path = request.path;
    if (path == servePath && request.method == "PUT")
        return applyServeConfig(request);
    if (path.starts_with("/api/jobs/"))
        return jobPage(request);
    const bool isServe = path == servePath;
    const bool isKnown = isServe || path == "/api/version" || path == "/api/gcs_healthz";
    if (!isRead(request))
        return isKnown ? rayWrongMethod(isServe ? "DELETE,GET,HEAD,PUT" : "GET,HEAD") : rayNotFound();
    if (isServe)
        return serveDetailsPage(request);
    if (path == "/")
        return {200, {{"Content-Type", "text/html"}, {"Cache-Control", "no-store"}}, rootPage};
    if (path == "/api/version" || path == "/api/ray/version")
        return rayJson({{"version", "4"},
                        {"ray_version", m_facts.rayVersion},
                        {"ray_commit", "slipway-ray"}, // what stands in for Ray says so
                        {"session_name", m_facts.session}});
    if (path == "/api/gcs_healthz")
        return rayHealth("success");
    if (path == "/nodes" || path.starts_with("/nodes/"))
        return nodePage(request);
    if (path == "/api/cluster_status")
        return clusterStatusPage(request);
    if (path == "/logical/actors")
        return rayEnvelope("All actors fetched.", {{"actors", logicalActors(m_serve.state(), m_nodes, "")}});
    if (path == "/events")
        return eventPage();
    if (path == "/api/prometheus/sd") {
        ServerResponse response = rayJson(metricTargets(m_nodes));
        response.headers.emplace_back("Cache-Control", "no-store");
        return response;
    }
    if (path == "/api/prometheus_health")
        return rayFailure(500, "prometheus healthcheck failed.",
                          {{"reason", "slipway-ray runs no Prometheus beside it"}});
    if (path == "/api/grafana_health")
        return rayFailure(500, "Grafana healthcheck failed",
                          {{"exception", "slipway-ray runs no Grafana beside it"}});
    if (path.starts_with("/api/v0/"))
        return statePage(request, m_nodes, m_serve.state(), m_jobs, m_facts.rayVersion);
    const json fixed = fixedPage(path);
    return fixed.is_null() ? rayNotFound() : rayJson(fixed);
}

ServerResponse RayDashboard::nodePage(const ServerRequest &request) const
{
    const auto usedBy = [this](const std::string &node) { return used(node); };
    if (request.path != "/nodes") {
        const std::string id = request.path.substr(std::string("/nodes/").size());
        return rayEnvelope(
            "Node details fetched.",
            nodeDetail(m_nodes, id, logicalActors(m_serve.state(), m_nodes, id), m_facts.session));
    }
    const std::string view = request.queryValue("view").value_or("None");
    if (view == "summary")
        return rayEnvelope("Node summary fetched.", nodesSummary(m_nodes, usedBy, m_facts.session));
    if (view == "hostNameList" || view == "hostnamelist") {
        json names = json::array();
        for (const RayNode &node : m_nodes.all()) {
            const bool isListed
                = std::find(names.begin(), names.end(), json(node.facts.hostName)) != names.end();
            if (node.isAlive() && !isListed)
                names.push_back(node.facts.hostName);
        }
        return rayEnvelope("Node hostname list fetched.", {{"hostNameList", std::move(names)}});
    }
    return rayFailure(500, "Unknown view " + view, json::object());
}

ServerResponse RayDashboard::clusterStatusPage(const ServerRequest &request) const
{
    const auto usedBy = [this](const std::string &node) { return used(node); };
    if (request.queryValue("format") == "1")
        return rayEnvelope("Got formatted cluster status.",
                           {{"clusterStatus", clusterStatusText(m_nodes, usedBy)}});
    return rayEnvelope("Got cluster status.", clusterStatus(m_nodes, usedBy));
}

ServerResponse RayDashboard::eventPage() const
{
    json list = json::array();
    for (const RayEvent &event : m_jobs.events())
        list.push_back({{"eventId", event.id},
                        {"sourceType", event.source},
                        {"sourceHostname", m_nodes.all().empty() ? "" : m_nodes.all().front().facts.hostName},
                        {"sourcePid", m_nodes.all().empty() ? 0 : m_nodes.all().front().facts.pid},
                        {"message", event.message},
                        {"timestamp", std::to_string(event.seconds)},
                        {"customFields", {{"submissionId", event.submissionId}}},
                        {"severity", event.severity},
                        {"label", ""}});
    json events = json::object();
    if (!list.empty())
        events["global"] = std::move(list);
    return rayEnvelope("All events fetched.", {{"events", std::move(events)}});
}

ServerResponse RayDashboard::serveDetailsPage(const ServerRequest &request) const
{
    const std::string type = request.queryValue("api_type").value_or("declarative");
    if (type != "declarative" && type != "imperative")
        return rayText(400,
                       "Invalid 'api_type' value: '" + type + "'. Must be one of: imperative, declarative");
    return rayJson(serveDetails(m_serve.state(), m_nodes, type == "declarative"));
}

ServerResponse RayDashboard::applyServeConfig(const ServerRequest &request)
{
    const auto config = parseServeConfig(request.body);
    if (!config)
        return rayText(config.error().status, config.error().text);
    m_serve.apply(*config, m_facts.now());
    return emptyAnswer();
}

ServerResponse RayDashboard::jobPage(const ServerRequest &request)
{
    const std::string rest = request.path.substr(std::string("/api/jobs/").size());
    const std::size_t slash = rest.find('/');
    const std::string id = rest.substr(0, slash);
    const std::string what = slash == std::string::npos ? "" : rest.substr(slash + 1);
    const auto unknown = [&id] { return rayText(404, "Job " + id + " does not exist"); };
    if (id.empty() && request.method == "POST") {
        const json body = json::parse(request.body, nullptr, false);
        const auto made = m_jobs.submit(body);
        if (!made)
            return rayText(made.error().code == ErrorCode::InvalidArgument ? 400 : 500,
                           pythonTraceback(made.error().message));
        return rayJson({{"job_id", *made}, {"submission_id", *made}});
    }
    if (id.empty())
        return isRead(request) ? rayJson(m_jobs.list()) : rayWrongMethod("GET,HEAD,POST");
    if (what == "stop" && request.method == "POST") {
        const auto stopped = m_jobs.stop(id);
        return stopped ? rayJson({{"stopped", *stopped}}) : unknown();
    }
    if (what.empty() && request.method == "DELETE") {
        const Status removed = m_jobs.remove(id);
        if (removed)
            return rayJson({{"deleted", true}});
        return removed.error().code == ErrorCode::NotFound
            ? unknown()
            : rayText(500, pythonTraceback(removed.error().message));
    }
    if (!isRead(request))
        return rayWrongMethod("DELETE,GET,HEAD");
    if (what == "logs") {
        const auto text = m_jobs.logs(id);
        return text ? rayJson({{"logs", *text}}) : unknown();
    }
    if (!what.empty())
        return rayNotFound();
    const json job = m_jobs.find(id);
    return job.is_null() ? unknown() : rayJson(job);
}

} // namespace cluster::local
