#include "cluster/local/metrics/pod_targets.h"

#include "cluster/local/metrics/relabeling.h"

#include <algorithm>
#include <utility>

namespace cluster::local {

using nlohmann::json;

namespace {

json memberAt(const json &object, const char *name)
{
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : json();
}

std::string textAt(const json &object, const char *name)
{
    const json value = memberAt(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

json ofOnly(const json &object, std::initializer_list<const char *> names)
{
    json part = json::object();
    for (const char *name : names) {
        if (json value = memberAt(object, name); !value.is_null())
            part[name] = std::move(value);
    }
    return part;
}

json containersOf(const json &spec, const char *field)
{
    json list = json::array();
    for (const json &container : memberAt(spec, field))
        list.push_back(ofOnly(container, {"name", "ports"}));
    return list;
}

bool isIn(const json &values, const std::string &value)
{
    return std::any_of(values.begin(), values.end(), [&](const json &one) { return one == value; });
}

bool expressionFits(const json &expression, const json &labels)
{
    const std::string op = textAt(expression, "operator");
    const json value = memberAt(labels, textAt(expression, "key").c_str());
    const bool isThere = value.is_string();
    if (op == "Exists" || op == "DoesNotExist")
        return isThere == (op == "Exists");
    const bool isListed = isThere && isIn(memberAt(expression, "values"), value.get<std::string>());
    if (op == "In")
        return isListed;
    return op == "NotIn" && !isListed;
}

json commonLabels(const json &pod, const std::string &ip)
{
    const json metadata = memberAt(pod, "metadata");
    const json status = memberAt(pod, "status");
    json labels{{"__meta_kubernetes_namespace", textAt(metadata, "namespace")},
                {relabeling::podMeta + "name", textAt(metadata, "name")},
                {relabeling::podMeta + "uid", textAt(metadata, "uid")},
                {relabeling::podMeta + "ip", ip},
                {relabeling::podMeta + "host_ip", textAt(status, "hostIP")},
                {relabeling::podMeta + "phase", textAt(status, "phase")},
                {relabeling::podMeta + "node_name", textAt(memberAt(pod, "spec"), "nodeName")}};
    const json podLabels = memberAt(metadata, "labels");
    for (const auto &[name, value] : podLabels.items()) {
        if (!value.is_string())
            continue;
        const std::string label = relabeling::metaLabelOf(name);
        labels[label] = value;
        labels[relabeling::podMeta + "labelpresent_"
               + label.substr(relabeling::podMeta.size() + std::string("label_").size())]
            = "true";
    }
    for (const json &owner : memberAt(metadata, "ownerReferences")) {
        if (memberAt(owner, "controller") == json(true)) {
            labels[relabeling::podMeta + "controller_kind"] = textAt(owner, "kind");
            labels[relabeling::podMeta + "controller_name"] = textAt(owner, "name");
        }
    }
    return labels;
}

json group(const std::string &address, json labels)
{
    return {{"targets", json::array({address})}, {"labels", std::move(labels)}};
}

void addContainer(json &groups, const json &container, json labels, const std::string &ip)
{
    labels[relabeling::podMeta + "container_name"] = textAt(container, "name");
    const json ports = memberAt(container, "ports");
    if (!ports.is_array() || ports.empty()) {
        groups.push_back(group(ip, std::move(labels)));
        return;
    }
    for (const json &port : ports) {
        const json number = memberAt(port, "containerPort");
        if (!number.is_number_integer())
            continue;
        const std::string text = std::to_string(number.get<std::int64_t>());
        labels[relabeling::podMeta + "container_port_name"] = textAt(port, "name");
        labels[relabeling::podMeta + "container_port_number"] = text;
        groups.push_back(group(ip + ":" + text, labels));
    }
}

} // namespace

void prunePod(json &pod)
{
    const json metadata = memberAt(pod, "metadata");
    const json spec = memberAt(pod, "spec");
    json slim{
        {"metadata",
         ofOnly(metadata, {"name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences"})},
        {"spec",
         {{"nodeName", textAt(spec, "nodeName")},
          {"containers", containersOf(spec, "containers")},
          {"initContainers", containersOf(spec, "initContainers")}}},
        {"status", ofOnly(memberAt(pod, "status"), {"podIP", "hostIP", "phase"})}};
    pod = std::move(slim);
}

bool selectorFits(const json &selector, const json &labels)
{
    const json matchLabels = memberAt(selector, "matchLabels");
    for (const auto &[key, value] : matchLabels.items()) {
        if (memberAt(labels, key.c_str()) != value)
            return false;
    }
    const json expressions = memberAt(selector, "matchExpressions");
    return std::all_of(expressions.begin(), expressions.end(),
                       [&](const json &expression) { return expressionFits(expression, labels); });
}

json podTargets(const json &pod)
{
    json groups = json::array();
    const std::string ip = textAt(memberAt(pod, "status"), "podIP");
    if (ip.empty())
        return groups;
    const json labels = commonLabels(pod, ip);
    const json spec = memberAt(pod, "spec");
    for (const char *field : {"containers", "initContainers"}) {
        for (const json &container : memberAt(spec, field))
            addContainer(groups, container, labels, ip);
    }
    return groups;
}

json nodeTarget(const std::string &node, const std::string &address)
{
    return group(address, {{"__meta_kubernetes_node_name", node}});
}

} // namespace cluster::local
