#include "cluster/local/runtimes/ray/metrics_page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

namespace cluster::local {

namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string valueText(double value)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
}

/// Writes families, each with the labels that all series of this page have.
class Page
{
public:
    explicit Page(const MetricsInput &input)
        : m_common{{"SessionName", input.session}, {"Version", input.rayVersion}}
    {
    }

    void family(const std::string &name, const char *type)
    {
        m_name = name;
        m_text += "# HELP " + name + " of slipway-ray, in place of Ray\n# TYPE " + name + " " + type + "\n";
    }

    void add(const Labels &labels, double value, const std::string &suffix = "")
    {
        m_text += m_name + suffix + "{";
        bool isFirst = true;
        for (const Labels *list : std::array<const Labels *, 2>{&m_common, &labels}) {
            for (const auto &[name, content] : *list) {
                m_text += (isFirst ? "" : ",") + name + "=\"" + escaped(content) + "\"";
                isFirst = false;
            }
        }
        m_text += "} " + valueText(value) + "\n";
    }

    void addHistogram(const Labels &labels, const LatencyCounts &counts)
    {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < serveBuckets.size(); ++i) {
            sum += counts.buckets[i];
            Labels withBound = labels;
            withBound.emplace_back("le", valueText(serveBuckets[i]));
            add(withBound, static_cast<double>(sum), "_bucket");
        }
        Labels last = labels;
        last.emplace_back("le", "+Inf");
        add(last, static_cast<double>(counts.count), "_bucket");
        add(labels, static_cast<double>(counts.count), "_count");
        add(labels, counts.sum, "_sum");
    }

    std::string take() { return std::move(m_text); }

private:
    static std::string escaped(const std::string &text)
    {
        std::string out;
        for (const char c : text) {
            if (c == '\\' || c == '"')
                out += '\\';
            out += c == '\n' ? "\\n" : std::string(1, c);
        }
        return out;
    }

    Labels m_common;
    std::string m_name, m_text;
};

void addNode(Page &page, const MetricsInput &input)
{
    const Labels labels{{"IsHeadNode", input.isHead ? "true" : "false"},
                        {"RayNodeType", input.isHead ? "head" : "worker"},
                        {"ip", input.facts->ip}};
    const RayNodeStats &stats = input.stats;
    const auto gauge = [&](const char *name, double value) {
        page.family(name, "gauge");
        page.add(labels, value);
    };
    const auto cpus = input.facts->resources.find("CPU");
    gauge("ray_node_cpu_utilization", stats.cpuPercent);
    gauge("ray_node_cpu_count", cpus == input.facts->resources.end() ? 0 : cpus->second);
    gauge("ray_node_mem_used", static_cast<double>(stats.memoryUsedBytes));
    gauge("ray_node_mem_available", static_cast<double>(stats.memoryTotalBytes - stats.memoryUsedBytes));
    gauge("ray_node_mem_total", static_cast<double>(stats.memoryTotalBytes));
    page.family("ray_resources", "gauge");
    for (const auto &[name, total] : input.facts->resources) {
        const auto taken = input.used.find(name);
        const double used = taken == input.used.end() ? 0 : taken->second;
        for (const auto &[state, amount] : {std::pair("AVAILABLE", total - used), std::pair("USED", used)})
            page.add({{"Component", "raylet"},
                      {"Name", name},
                      {"NodeAddress", input.facts->ip},
                      {"State", state},
                      {"WorkerId", ""}},
                     amount);
    }
}

/// Serve's and its replicas' series have the node's address, and the component that counted them.
Labels workerLabels(const MetricsInput &input, Labels more)
{
    Labels labels{{"Component", "core_worker"}, {"NodeAddress", input.facts->ip}, {"WorkerId", ""}};
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
}

void addProxy(Page &page, const MetricsInput &input)
{
    const Labels here
        = workerLabels(input, {{"node_id", input.nodeId}, {"node_ip_address", input.facts->ip}});
    page.family("ray_serve_num_ongoing_http_requests", "gauge");
    page.add(here, input.proxy->ongoing);
    const auto labelsOf = [&](const ProxyKey &key, const char *status) {
        return workerLabels(input,
                            {{"application", key.app},
                             {"method", key.method},
                             {"route", key.route},
                             {status, std::to_string(key.status)}});
    };
    if (input.proxy->requests.empty())
        return; // a family is there with its first value
    page.family("ray_serve_num_http_requests_total", "counter");
    for (const auto &[key, counts] : input.proxy->requests)
        page.add(labelsOf(key, "status_code"), static_cast<double>(counts.count));
    page.family("ray_serve_http_request_latency_ms", "histogram");
    for (const auto &[key, counts] : input.proxy->requests)
        page.addHistogram(labelsOf(key, "status_code"), counts);
    bool hasErrors = false;
    for (const auto &[key, counts] : input.proxy->requests) {
        if (key.status < 400)
            continue;
        if (!std::exchange(hasErrors, true))
            page.family("ray_serve_num_http_error_requests_total", "counter");
        page.add(labelsOf(key, "error_code"), static_cast<double>(counts.count));
    }
}

Labels replicaLabels(const MetricsInput &input, const ServeReplicaSpec &spec)
{
    return workerLabels(input,
                        {{"application", spec.app}, {"deployment", spec.deployment}, {"replica", spec.id}});
}

void addReplicas(Page &page, const MetricsInput &input)
{
    if (input.hosted.empty())
        return;
    page.family("ray_serve_replica_processing_queries", "gauge");
    for (const auto &hosted : input.hosted) {
        const auto count = input.traffic.ongoing.find(hosted.spec.id);
        page.add(replicaLabels(input, hosted.spec), count == input.traffic.ongoing.end() ? 0 : count->second);
    }
    page.family("ray_serve_deployment_request_counter_total", "counter");
    for (const auto &hosted : input.hosted) {
        if (const auto count = input.traffic.served.find(hosted.spec.id); count != input.traffic.served.end())
            page.add(replicaLabels(input, hosted.spec), static_cast<double>(count->second));
    }
}

int codeOf(ServeAppStatus status)
{
    switch (status) {
    case ServeAppStatus::DeployFailed:
        return 1;
    case ServeAppStatus::Unhealthy:
        return 2;
    case ServeAppStatus::NotStarted:
        return 3;
    case ServeAppStatus::Deleting:
        return 4;
    case ServeAppStatus::Deploying:
        return 5;
    case ServeAppStatus::Running:
        return 6;
    }
    return 0;
}

int codeOf(ServeDeploymentStatus status)
{
    switch (status) {
    case ServeDeploymentStatus::DeployFailed:
        return 1;
    case ServeDeploymentStatus::Unhealthy:
        return 2;
    case ServeDeploymentStatus::Updating:
        return 3;
    case ServeDeploymentStatus::Upscaling:
        return 4;
    case ServeDeploymentStatus::Downscaling:
        return 5;
    case ServeDeploymentStatus::Healthy:
        return 6;
    }
    return 0;
}

int codeOf(ServeProxyStatus status)
{
    return status == ServeProxyStatus::Starting ? 1 : status == ServeProxyStatus::Healthy ? 2 : 4;
}

using OfDeployment = std::function<void(const Labels &labels, const ServeDeployment &deployment)>;

void forDeployments(const MetricsInput &input, const OfDeployment &fn)
{
    for (const auto &[name, app] : input.serve->apps) {
        for (const ServeDeployment &deployment : app.deployments)
            fn(workerLabels(input, {{"application", name}, {"deployment", deployment.blueprint.name}}),
               deployment);
    }
}

void addController(Page &page, const MetricsInput &input)
{
    page.family("ray_serve_application_status", "gauge");
    for (const auto &[name, app] : input.serve->apps)
        page.add(workerLabels(input, {{"application", name}}), codeOf(app.status));
    page.family("ray_serve_deployment_status", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        page.add(labels, codeOf(deployment.status));
    });
    page.family("ray_serve_proxy_status", "gauge");
    for (const auto &[id, proxy] : input.serve->proxies) {
        const RayNode *node = input.nodes->find(id);
        page.add(workerLabels(input,
                              {{"node_id", id},
                               {"node_ip_address", node == nullptr ? std::string() : node->facts.ip}}),
                 codeOf(proxy.status));
    }
    page.family("ray_serve_deployment_replica_healthy", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        for (const ServeReplica &replica : deployment.replicas) {
            Labels own = labels;
            own.emplace_back("replica", replica.spec.id);
            page.add(own, replica.state == ServeReplicaState::Running ? 1 : 0);
        }
    });
    page.family("ray_serve_autoscaling_target_replicas", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        if (deployment.autoscaler)
            page.add(labels, std::max(0, deployment.target));
    });
    page.family("ray_serve_autoscaling_desired_replicas", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        if (deployment.autoscaler)
            page.add(labels, deployment.autoscaler->desired());
    });
    page.family("ray_serve_autoscaling_total_requests", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        if (deployment.autoscaler)
            page.add(labels, deployment.autoscaler->meanOngoing());
    });
    page.family("ray_serve_autoscaling_target_ongoing_requests", "gauge");
    forDeployments(input, [&](const Labels &labels, const ServeDeployment &deployment) {
        if (deployment.autoscaler)
            page.add(labels, deployment.autoscaler->rules().targetOngoing);
    });
}

} // namespace

std::string metricsPage(const MetricsInput &input)
{
    Page page(input);
    addNode(page, input);
    if (input.proxy != nullptr)
        addProxy(page, input);
    addReplicas(page, input);
    if (input.isHead && input.nodes != nullptr) {
        page.family("ray_cluster_active_nodes", "gauge");
        for (const RayNode &node : input.nodes->all()) {
            if (node.isAlive())
                page.add({{"node_type", "node_" + node.id}}, 1);
        }
    }
    if (input.serve != nullptr && input.serve->isStarted)
        addController(page, input);
    return page.take();
}

std::string engineMetrics(std::string_view rest, const std::string &replica)
{
    constexpr std::string_view start = "vllm:";
    std::string page;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const bool isComment = line.starts_with("# HELP vllm:") || line.starts_with("# TYPE vllm:");
        if (!isComment && !line.starts_with(start))
            continue;
        std::string made(line);
        made.replace(made.find(start), start.size(), "ray_vllm_");
        if (!isComment) {
            const std::size_t brace = made.find('{'), blank = made.find(' ');
            const std::string label = "ReplicaId=\"" + replica + "\"";
            if (brace != std::string::npos && brace < blank)
                made.insert(brace + 1, label + (made[brace + 1] == '}' ? "" : ","));
            else if (blank != std::string::npos)
                made.insert(blank, "{" + label + "}");
        }
        page += made + "\n";
    }
    return page;
}

} // namespace cluster::local
