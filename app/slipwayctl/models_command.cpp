#include "app/slipwayctl/command_line.h"
#include "app/slipwayctl/pull_report.h"
#include "app/slipwayctl/store_access.h"
#include "cluster/modelstore/model_store.h"
#include "cluster/net/http_client.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace slipwayctl {

namespace {

using Json = nlohmann::ordered_json;
using cluster::StoredModel;

Json toJson(const StoredModel &model)
{
    Json json = {{"name", model.name}};
    json["path"] = model.isInstalled() ? Json(model.path.string()) : Json();
    json["sha256"] = model.sha256.empty() ? Json() : Json(model.sha256);
    json["licence"] = model.licence.empty() ? Json() : Json(model.licence);
    json["size"] = model.bytes;
    json["source"] = model.source;
    json["kind"] = cluster::toString(model.kind);
    json["aliases"] = model.aliases;
    json["description"] = model.description;
    if (!model.licenceNote.empty())
        json["licence_note"] = model.licenceNote;
    return json;
}

std::string megabytes(std::uint64_t bytes)
{
    return std::to_string((bytes + 500000) / 1000000) + " MB";
}

std::string padded(std::string text, std::size_t width)
{
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

void listModels(CommandContext &context, bool isOnlyInstalled)
{
    const auto store = openStore(context);
    if (!store)
        return;
    std::vector<cluster::Error> problems;
    Json list = Json::array();
    std::string text
        = padded("NAME", 26) + padded("KIND", 12) + padded("SIZE", 10) + padded("HERE", 6) + "LICENCE\n";
    for (const StoredModel &model : store->list(&problems)) {
        if (isOnlyInstalled && !model.isInstalled())
            continue;
        list.push_back(toJson(model));
        text += padded(model.name, 26) + padded(std::string(cluster::toString(model.kind)), 12)
            + padded(megabytes(model.bytes), 10) + padded(model.isInstalled() ? "yes" : "no", 6)
            + (model.licence.empty() ? "not known" : model.licence) + "\n";
    }
    for (const cluster::Error &problem : problems)
        remark(context, "slipwayctl: " + problem.message);
    if (context.wantsJson)
        printJson(list);
    else
        print(text);
}

void printModel(CommandContext &context, const StoredModel &model, Json &list, const std::string &done)
{
    if (context.wantsJson) {
        list.push_back(toJson(model));
        return;
    }
    print(model.name + ": " + done + " (" + model.path.string() + ")\n");
    if (!model.licence.empty())
        remark(context,
               "Licence: " + model.licence
                   + (model.licenceNote.empty() ? "" : " (" + model.licenceNote + ")"));
}

/// Does `work` for each name until one fails; with -o json the models that went well are printed as a list.
template<typename Work>
void forEachName(CommandContext &context, const std::vector<std::string> &names, const std::string &done,
                 Work work)
{
    Json list = Json::array();
    for (const std::string &name : names) {
        const cluster::Result<StoredModel> model = work(name);
        if (!model) {
            report(context, model.error());
            return;
        }
        printModel(context, *model, list, done);
    }
    if (context.wantsJson)
        printJson(list);
}

void pullModels(CommandContext &context, const std::vector<std::string> &names, const std::string &hubUrl)
{
    auto store = openStore(context);
    if (!store)
        return;
    const bool isFromHub = std::ranges::any_of(names, [&](const std::string &name) {
        const auto known = store->find(name);
        return name.starts_with("hf:") || (known && known->source.starts_with("hf:"));
    });
    const auto hub
        = isFromHub ? hubAccess(context, hubUrl) : cluster::HubAccess{}; // secrets only where needed
    if (!hub) {
        report(context, hub.error());
        return;
    }
    cluster::HttpClient http;
    const auto cancel = context.interrupts.begin();
    forEachName(context, names, "is here, and its SHA-256 is right", [&](const std::string &name) {
        PullReport line(context);
        cluster::PullOptions options{cancel,
                                     [&](const cluster::PullProgress &progress) { line.show(progress); }};
        return store->pull(name, http, *hub, options);
    });
}

struct Arguments
{
    std::vector<std::string> names;
    std::string file;
    std::string name;
    std::string hubUrl;
    bool isOnlyInstalled = false;
};

using ArgumentsPtr = std::shared_ptr<Arguments>;

void addVerify(CLI::App &models, CommandContext &context, const ArgumentsPtr &arguments)
{
    CLI::App *verify
        = models.add_subcommand("verify", "Read the files again and compare their SHA-256")->fallthrough();
    verify->add_option("NAME", arguments->names, "names of models")->required();
    verify->callback([&context, arguments] {
        const auto store = openStore(context);
        const auto cancel = context.interrupts.begin();
        if (store)
            forEachName(context, arguments->names, "SHA-256 is right",
                        [&](const std::string &name) { return store->verify(name, cancel); });
    });
}

void addAdd(CLI::App &models, CommandContext &context, const ArgumentsPtr &arguments)
{
    CLI::App *add = models.add_subcommand("add", "Register a GGUF file where it is")->fallthrough();
    add->add_option("FILE", arguments->file, "the file")->required();
    add->add_option("--name", arguments->name, "its name here; without it the file's own");
    add->callback([&context, arguments] {
        auto store = openStore(context);
        cluster::PullOptions options{context.interrupts.begin(), {}};
        if (store)
            forEachName(context, {arguments->file}, "registered",
                        [&](const std::string &file) { return store->add(file, arguments->name, options); });
    });
}

void addRemove(CLI::App &models, CommandContext &context, const ArgumentsPtr &arguments)
{
    CLI::App *remove
        = models.add_subcommand("rm", "Delete models; a registered file is only forgotten")->fallthrough();
    remove->add_option("NAME", arguments->names, "names of models")->required();
    remove->callback([&context, arguments] {
        auto store = openStore(context);
        if (store)
            forEachName(context, arguments->names, "removed",
                        [&](const std::string &name) -> cluster::Result<StoredModel> {
                            const cluster::Result<StoredModel> model = store->find(name);
                            if (const cluster::Status removed = store->remove(name); !removed)
                                return tl::unexpected(removed.error());
                            return model;
                        });
    });
}

} // namespace

void addModelsCommands(CLI::App &app, CommandContext &context)
{
    const auto arguments = std::make_shared<Arguments>();
    CLI::App *models = app.add_subcommand("models", "The models on this machine: list, get, check, remove");
    models->require_subcommand(1)->fallthrough();

    CLI::App *list = models->add_subcommand("list", "What there is, here or to be had")->fallthrough();
    list->add_flag("--installed", arguments->isOnlyInstalled, "only what is on this machine");
    list->callback([&context, arguments] { listModels(context, arguments->isOnlyInstalled); });

    CLI::App *pull
        = models->add_subcommand("pull", "Get models, checked by SHA-256; an interrupted pull goes on")
              ->fallthrough();
    pull->add_option("NAME", arguments->names, "a name of 'models list', or hf:OWNER/NAME[@REVISION][:FILE]")
        ->required();
    pull->add_option("--hub-url", arguments->hubUrl, "another server that speaks Hugging Face's interface");
    pull->footer(
        "Hugging Face: the access token is HF_TOKEN, or 'huggingface' in the desktop's keyring "
        "('slipway-keyring write huggingface' keeps it there), or in the file named by HF_TOKEN_PATH (mode "
        "0600). With -o json each step is a line of JSON on standard error: doing, bytes, total.");
    pull->callback([&context, arguments] { pullModels(context, arguments->names, arguments->hubUrl); });
    addVerify(*models, context, arguments);
    addAdd(*models, context, arguments);
    addRemove(*models, context, arguments);
}

} // namespace slipwayctl
