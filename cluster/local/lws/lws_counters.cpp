#include "cluster/local/lws/lws_counters.h"

namespace cluster::local {

namespace {

void family(std::string &page, const std::string &name, const char *type, const char *help)
{
    page += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void sample(std::string &page, const std::string &name, const std::string &labels, std::uint64_t value)
{
    page += name + "{" + labels + "} " + std::to_string(value) + "\n";
}

std::string controllerLabel(const char *name)
{
    return std::string("controller=\"") + name + "\"";
}

void passes(std::string &page, const std::string &name, const char *controller,
            const LwsCounters::Controller &counts)
{
    const std::string label = controllerLabel(controller);
    sample(page, name, label + ",result=\"error\"", counts.failed);
    sample(page, name, label + ",result=\"requeue_after\"", counts.requeued);
    sample(page, name, label + ",result=\"success\"", counts.succeeded);
}

} // namespace

std::string metricsPage(const LwsCounters &counters)
{
    std::string page;
    const std::string total = "controller_runtime_reconcile_total",
                      errors = "controller_runtime_reconcile_errors_total",
                      answers = "controller_runtime_webhook_requests_total", depth = "workqueue_depth",
                      leading = "leader_election_master_status";
    family(page, total, "counter", "Total number of reconciliations per controller");
    passes(page, total, "leaderworkerset", counters.sets);
    passes(page, total, "pod", counters.pods);
    family(page, errors, "counter", "Total number of reconciliation errors per controller");
    sample(page, errors, controllerLabel("leaderworkerset"), counters.sets.failed);
    sample(page, errors, controllerLabel("pod"), counters.pods.failed);
    family(page, answers, "counter", "Total number of admission requests by HTTP status code.");
    sample(page, answers, "code=\"200\"", counters.admitted + counters.refused);
    sample(page, answers, "code=\"400\"", counters.unread);
    family(page, depth, "gauge", "Current depth of workqueue");
    sample(page, depth, controllerLabel("leaderworkerset") + ",name=\"leaderworkerset\"",
           counters.sets.queued);
    sample(page, depth, controllerLabel("pod") + ",name=\"pod\"", counters.pods.queued);
    family(page, leading, "gauge",
           "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 "
           "indicates master.");
    sample(page, leading, "name=\"b8b2488c.x-k8s.io\"", counters.isLeading ? 1 : 0);
    return page;
}

} // namespace cluster::local
