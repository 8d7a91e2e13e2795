#include "cluster/local/kubelet/kubelet_pages.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

double seconds(std::uint64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e9;
}

std::int64_t milliseconds(PageTime time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

Json cpu(std::uint64_t nanocores, std::uint64_t nanoseconds, PageTime now)
{
    return {{"time", rfc3339(now)}, {"usageNanoCores", nanocores}, {"usageCoreNanoSeconds", nanoseconds}};
}

Json memory(std::uint64_t resident, std::uint64_t anonymous, PageTime now)
{
    return {{"time", rfc3339(now)},
            {"usageBytes", resident},
            {"workingSetBytes", resident},
            {"rssBytes", anonymous}};
}

ContainerUsage sum(const std::vector<ContainerUsage> &parts)
{
    ContainerUsage total;
    for (const ContainerUsage &part : parts) {
        total.cpuNanocores += part.cpuNanocores;
        total.cpuNanoseconds += part.cpuNanoseconds;
        total.memoryBytes += part.memoryBytes;
        total.anonymousBytes += part.anonymousBytes;
    }
    return total;
}

std::string escaped(const std::string &label)
{
    std::string text;
    for (const char c : label) {
        if (c == '\\' || c == '"')
            text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text;
}

/// One metric family of a page.
class Family
{
public:
    Family(const char *name, const char *type, const char *help)
        : m_name(name),
          m_text(std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n")
    {
    }

    void add(const std::string &labels, double value, PageTime now)
    {
        std::array<char, 64> number{};
        std::snprintf(number.data(), number.size(), "%.17g", value);
        m_text += m_name + (labels.empty() ? "" : "{" + labels + "}") + " " + number.data() + " "
            + std::to_string(milliseconds(now)) + "\n";
    }
    [[nodiscard]] const std::string &text() const { return m_text; }

private:
    std::string m_name;
    std::string m_text;
};

std::string podLabels(const PodUsage &pod)
{
    return "namespace=\"" + escaped(pod.podNamespace) + "\",pod=\"" + escaped(pod.pod) + "\"";
}

std::string containerLabels(const PodUsage &pod, const ContainerUsage &container)
{
    return "container=\"" + escaped(container.container) + "\"," + podLabels(pod);
}

} // namespace

std::string rfc3339(PageTime time)
{
    const std::time_t whole = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    gmtime_r(&whole, &parts);
    std::array<char, 32> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), size};
}

Json statsSummary(const std::string &node, const std::vector<PodUsage> &pods, PageTime now)
{
    Json list = Json::array();
    std::vector<ContainerUsage> all;
    for (const PodUsage &pod : pods) {
        Json containers = Json::array();
        PageTime start = now;
        for (const ContainerUsage &part : pod.containers) {
            containers.push_back({{"name", part.container},
                                  {"startTime", rfc3339(part.startedAt)},
                                  {"cpu", cpu(part.cpuNanocores, part.cpuNanoseconds, now)},
                                  {"memory", memory(part.memoryBytes, part.anonymousBytes, now)}});
            start = std::min(start, part.startedAt);
        }
        const ContainerUsage total = sum(pod.containers);
        all.push_back(total);
        list.push_back({{"podRef", {{"name", pod.pod}, {"namespace", pod.podNamespace}, {"uid", pod.uid}}},
                        {"startTime", rfc3339(start)},
                        {"containers", containers},
                        {"cpu", cpu(total.cpuNanocores, total.cpuNanoseconds, now)},
                        {"memory", memory(total.memoryBytes, total.anonymousBytes, now)}});
    }
    const ContainerUsage total = sum(all);
    return {{"node",
             {{"nodeName", node},
              {"cpu", cpu(total.cpuNanocores, total.cpuNanoseconds, now)},
              {"memory", memory(total.memoryBytes, total.anonymousBytes, now)}}},
            {"pods", list}};
}

std::string resourceMetrics(const std::vector<PodUsage> &pods, PageTime now)
{
    Family cpuTime("container_cpu_usage_seconds_total", "counter",
                   "[STABLE] Cumulative cpu time consumed by the container in core-seconds");
    Family workingSet("container_memory_working_set_bytes", "gauge",
                      "[STABLE] Current working set of the container in bytes");
    Family startTime("container_start_time_seconds", "gauge",
                     "[STABLE] Start time of the container since unix epoch in seconds");
    Family nodeCpu("node_cpu_usage_seconds_total", "counter",
                   "[STABLE] Cumulative cpu time consumed by the node in core-seconds");
    Family nodeMemory("node_memory_working_set_bytes", "gauge",
                      "[STABLE] Current working set of the node in bytes");
    Family podCpu("pod_cpu_usage_seconds_total", "counter",
                  "[STABLE] Cumulative cpu time consumed by the pod in core-seconds");
    Family podMemory("pod_memory_working_set_bytes", "gauge",
                     "[STABLE] Current working set of the pod in bytes");
    std::vector<ContainerUsage> all;
    for (const PodUsage &pod : pods) {
        for (const ContainerUsage &part : pod.containers) {
            const std::string labels = containerLabels(pod, part);
            cpuTime.add(labels, seconds(part.cpuNanoseconds), now);
            workingSet.add(labels, static_cast<double>(part.memoryBytes), now);
            startTime.add(labels, static_cast<double>(milliseconds(part.startedAt)) / 1e3, now);
        }
        const ContainerUsage total = sum(pod.containers);
        podCpu.add(podLabels(pod), seconds(total.cpuNanoseconds), now);
        podMemory.add(podLabels(pod), static_cast<double>(total.memoryBytes), now);
        all.push_back(total);
    }
    const ContainerUsage total = sum(all);
    nodeCpu.add("", seconds(total.cpuNanoseconds), now);
    nodeMemory.add("", static_cast<double>(total.memoryBytes), now);
    return cpuTime.text() + workingSet.text() + startTime.text() + nodeCpu.text() + nodeMemory.text()
        + podCpu.text() + podMemory.text()
        + "# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 "
          "otherwise\n# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n";
}

std::string cadvisorMetrics(const std::vector<PodUsage> &pods, PageTime now)
{
    Family cpuTime("container_cpu_usage_seconds_total", "counter",
                   "Cumulative cpu time consumed in seconds.");
    Family workingSet("container_memory_working_set_bytes", "gauge", "Current working set in bytes.");
    Family resident("container_memory_rss", "gauge", "Size of RSS in bytes.");
    for (const PodUsage &pod : pods) {
        for (const ContainerUsage &part : pod.containers) {
            const std::string labels = containerLabels(pod, part);
            cpuTime.add(labels + ",cpu=\"total\"", seconds(part.cpuNanoseconds), now);
            workingSet.add(labels, static_cast<double>(part.memoryBytes), now);
            resident.add(labels, static_cast<double>(part.anonymousBytes), now);
        }
    }
    return cpuTime.text() + workingSet.text() + resident.text();
}

Json podList(Json pods, bool onlyRunning)
{
    Json items = Json::array();
    for (Json &pod : pods) {
        const Json phase = pod.value("/status/phase"_json_pointer, Json());
        if (!onlyRunning || phase == "Running")
            items.push_back(std::move(pod));
    }
    return {
        {"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"items", std::move(items)}};
}

} // namespace cluster::local
