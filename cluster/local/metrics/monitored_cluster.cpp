#include "cluster/local/metrics/monitored_cluster.h"

#include "cluster/kube/informer.h"
#include "cluster/local/files/whole_files.h"
#include "cluster/local/metrics/monitoring_definitions.h"
#include "cluster/local/metrics/pod_targets.h"

#include <ctime>
#include <utility>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kGroup = "monitoring.googleapis.com";
constexpr const char *kCondition = "ConfigurationCreateSuccess";

std::string nowText()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

json conditionOf(const json &monitoring)
{
    for (const json &condition : monitoring.value("/status/conditions"_json_pointer, json::array())) {
        if (condition.value("type", "") == kCondition)
            return condition;
    }
    return json::object();
}

} // namespace

MonitoredCluster::MonitoredCluster(ScrapedCluster facts, KubeEndpoint endpoint)
    : m_facts(std::move(facts)), m_client(m_http, std::move(endpoint))
{
}

MonitoredCluster::~MonitoredCluster()
{
    stop();
}

Status MonitoredCluster::start(std::function<void()> onChange)
{
    m_onChange = std::move(onChange);
    Status installed = installMonitoringDefinitions(m_client);
    follow("podmonitorings");
    follow("clusterpodmonitorings");
    return installed;
}

void MonitoredCluster::stop()
{
    m_stopping.request_stop();
    m_informers.clear();
    forgetTargets();
}

void MonitoredCluster::forgetTargets()
{
    const std::scoped_lock lock(m_targetsMutex);
    m_pods.reset();
    m_nodes.reset();
    std::error_code error;
    for (const auto &[key, text] : m_written)
        std::filesystem::remove(m_facts.targetsFile(key), error);
    m_written.clear();
}

void MonitoredCluster::followTargets()
{
    const auto follow = [this](ResourcePath path, std::function<void(json &)> prune) {
        Informer::Handlers handlers;
        handlers.onEvent = [this](const InformerEvent &event) {
            if (!event.previous || podTargets(*event.object) != podTargets(*event.previous))
                m_onChange();
        };
        InformerOptions options;
        options.prune = std::move(prune);
        return std::make_unique<Informer>(m_client, std::move(path), std::move(handlers), std::move(options));
    };
    m_pods = follow(coreV1("pods"), prunePod);
    m_nodes = follow(coreV1("nodes"), [](json &node) { node = {{"metadata", node.at("metadata")}}; });
}

Status MonitoredCluster::writeTargets()
{
    const std::scoped_lock lock(m_targetsMutex);
    if (m_stopping.stop_requested())
        return {};
    if (!m_pods)
        followTargets();
    std::map<std::string, json> targets;
    const std::string server = m_facts.apiUrl.substr(m_facts.apiUrl.find("//") + 2);
    json &kubelets = targets["kubelet"] = json::array();
    for (const KubeObject &node : m_nodes->objects())
        kubelets.push_back(nodeTarget(node->at("metadata").value("name", ""), server));
    const auto pods = m_pods->objects();
    for (const auto &[key, monitoring] : monitorings()) {
        json &groups = targets[key] = json::array();
        const std::string nameSpace = monitoring.at("metadata").value("namespace", "");
        const json selector = monitoring.value("/spec/selector"_json_pointer, json::object());
        for (const KubeObject &pod : pods) {
            const json &metadata = pod->at("metadata");
            const bool isIn = nameSpace.empty() || metadata.value("namespace", "") == nameSpace;
            if (!isIn || !selectorFits(selector, metadata.value("labels", json::object())))
                continue;
            for (json &group : podTargets(*pod))
                groups.push_back(std::move(group));
        }
    }
    return keepFiles(targets);
}

/// The lock is held.
Status MonitoredCluster::keepFiles(const std::map<std::string, json> &targets)
{
    std::error_code error;
    std::erase_if(m_written, [&](const auto &entry) {
        if (targets.contains(entry.first))
            return false;
        std::filesystem::remove(m_facts.targetsFile(entry.first), error);
        return true;
    });
    for (const auto &[key, groups] : targets) {
        std::string text = groups.dump() + "\n";
        std::string &written = m_written[key];
        if (written == text)
            continue;
        if (Status done = writeWholeFile(m_facts.targetsFile(key), text); !done)
            return done;
        written = std::move(text);
    }
    return {};
}

void MonitoredCluster::follow(const std::string &plural)
{
    Informer::Handlers handlers;
    handlers.onEvent = [this](const InformerEvent &event) {
        {
            const std::scoped_lock lock(m_mutex);
            const std::string key = monitoringKeyOf(*event.object);
            if (event.type == InformerEventType::Deleted)
                m_monitorings.erase(key);
            else
                m_monitorings.insert_or_assign(key, *event.object);
        }
        // Of the status that we write ourselves nothing follows.
        const bool isNews = event.type != InformerEventType::Modified
            || event.object->value("spec", json()) != event.previous->value("spec", json());
        if (isNews)
            m_onChange();
    };
    m_informers.push_back(
        std::make_unique<Informer>(m_client, apiGroup(kGroup, "v1", plural), std::move(handlers)));
}

std::map<std::string, json> MonitoredCluster::monitorings() const
{
    const std::scoped_lock lock(m_mutex);
    return m_monitorings;
}

void MonitoredCluster::report(const std::string &key, const std::string &problem)
{
    const auto all = monitorings();
    const auto found = all.find(key);
    if (found != all.end() && !m_stopping.stop_requested())
        writeCondition(found->second, problem);
}

void MonitoredCluster::writeCondition(const json &monitoring, const std::string &problem)
{
    const json &metadata = monitoring.at("metadata");
    const json generation = metadata.value("generation", json(0));
    const json before = conditionOf(monitoring);
    const std::string status = problem.empty() ? "True" : "False";
    const bool isSame = before.value("status", "") == status && before.value("message", "") == problem
        && monitoring.value("/status/observedGeneration"_json_pointer, json()) == generation;
    if (isSame)
        return;
    const std::string now = nowText();
    json condition{{"type", kCondition},
                   {"status", status},
                   {"lastUpdateTime", now},
                   {"lastTransitionTime",
                    before.value("status", "") == status ? before.value("lastTransitionTime", now) : now}};
    if (!problem.empty()) {
        condition["reason"] = "ScrapeConfigError";
        condition["message"] = problem;
    }
    const std::string nameSpace = metadata.value("namespace", "");
    const ResourcePath path
        = apiGroup(kGroup, "v1", nameSpace.empty() ? "clusterpodmonitorings" : "podmonitorings", nameSpace,
                   metadata.value("name", ""));
    KubeWriteOptions options;
    options.cancel = m_stopping.get_token();
    options.deadline = Deadline::after(std::chrono::seconds(10));
    options.fieldManager = "gmp-operator";
    // Whoever deleted it meanwhile needs no status.
    (void)m_client.patchStatus(
        path, {{"conditions", json::array({std::move(condition)})}, {"observedGeneration", generation}},
        options);
}

} // namespace cluster::local
