#include "app/slipwayctl/local_command.h"

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace slipwayctl {

using cluster::ErrorCode;
using nlohmann::json;

namespace {

/// "key=value" words as JSON: numbers and true/false as such, the rest as text.
cluster::Result<json> fieldsOf(const std::vector<std::string> &words)
{
    json fields = json::object();
    for (const std::string &word : words) {
        const std::size_t at = word.find('=');
        if (at == std::string::npos || at == 0)
            return cluster::fail(ErrorCode::InvalidArgument,
                                 "'" + word + "' is not KEY=VALUE (say location=us-east5-b, times=1)");
        const std::string value = word.substr(at + 1);
        json parsed = json::parse(value, nullptr, false);
        const bool isPlain = parsed.is_number() || parsed.is_boolean();
        fields[word.substr(0, at)] = isPlain ? parsed : json(value);
    }
    return fields;
}

std::string lineOf(const json &fault)
{
    std::string line = fault.value("id", "") + "  " + fault.value("kind", "");
    for (const auto &[key, value] : fault.items()) {
        if (key != "id" && key != "kind" && !value.is_null())
            line += "  " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return line + "\n";
}

void printFaults(const CommandContext &context, const json &faults)
{
    if (context.wantsJson) {
        printJson(nlohmann::ordered_json(faults));
        return;
    }
    std::string text;
    for (const json &fault : faults)
        text += lineOf(fault);
    print(text.empty() ? "No faults are ordered.\n" : text);
}

void ask(CommandContext &context, const char *method, const std::string &path, const std::string &body)
{
    cluster::HttpClient http;
    const auto daemon = runningDaemon(context, http);
    if (!daemon)
        return;
    const auto answer = daemon->ask(method, path, body, context.interrupts.begin());
    if (!answer)
        return report(context, answer.error());
    if (answer->contains("faults"))
        printFaults(context, answer->at("faults"));
    else if (answer->contains("id"))
        printFaults(context, json::array({*answer}));
    else if (context.wantsJson)
        printJson(nlohmann::ordered_json(*answer));
}

void add(CommandContext &context, const std::string &kind, const std::vector<std::string> &words)
{
    auto fields = fieldsOf(words);
    if (!fields) {
        report(context, fields.error());
        context.exitStatus = exitUsage;
        return;
    }
    (*fields)["kind"] = kind;
    ask(context, "POST", "faults", fields->dump());
}

} // namespace

void addFaultCommands(CLI::App &local, CommandContext &context)
{
    CLI::App *fault = local.add_subcommand("fault", "Make things go wrong on order");
    fault->require_subcommand(1);
    const auto kind = std::make_shared<std::string>();
    const auto words = std::make_shared<std::vector<std::string>>();
    CLI::App *adding = fault->add_subcommand("add", "Order a fault");
    adding->add_option("KIND", *kind, "Which, see below")->required();
    adding->add_option("KEY=VALUE", *words, "What it hits, how often, how long");
    adding->footer(
        "Kinds: stockout, quota (limit=N), slow-operation (factor=N), failed-operation, host-lost,\n"
        "       maintenance, preemption, rate-limit (429), unavailable (503), latency (latencyMs=N),\n"
        "       token-expiry, disk-full.\n"
        "Keys:  service, method, path, location, cluster, pool, host, machineType, quota, operation: what "
        "it\n"
        "       hits (all, where left out); message: instead of Google's words; times: how often, 0 for "
        "ever.\n"
        "Say:   slipwayctl local fault add stockout location=us-east5-b machineType=ct6e-standard-4t "
        "times=1");
    adding->callback([&context, kind, words] { add(context, *kind, *words); });
    fault->add_subcommand("list", "The faults that are ordered")->callback([&context] {
        ask(context, "GET", "faults", "");
    });
    const auto id = std::make_shared<std::string>();
    CLI::App *removing = fault->add_subcommand("remove", "Take one back, or all");
    removing->add_option("ID", *id, "As list shows it; without it: all");
    removing->callback(
        [&context, id] { ask(context, "DELETE", id->empty() ? "faults" : "faults/" + *id, ""); });
}

} // namespace slipwayctl
