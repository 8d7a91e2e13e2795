#include "app/slipwayctl/command_line.h"
#include "app/slipwayctl/local_engine.h"
#include "app/slipwayctl/store_access.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace slipwayctl {

namespace {

bool has(const std::vector<std::string> &arguments, const std::string &flag)
{
    return std::ranges::any_of(arguments, [&](const std::string &argument) {
        return argument == flag || argument.starts_with(flag + "=");
    });
}

/// Becomes the engine; returns only if that can't be.
void serve(CommandContext &context, std::vector<std::string> arguments)
{
    const auto engine = findEngine(context.programPath);
    if (!engine) {
        report(context, engine.error());
        return;
    }
    if (arguments.empty()) {
        report(context,
               {cluster::ErrorCode::InvalidArgument,
                "serve which model? A name of 'slipwayctl models list' or a GGUF file"});
        context.exitStatus = exitUsage;
        return;
    }
    // The first word is the model, as for `vllm serve`; where it is a flag, the engine says what it wants.
    if (!arguments.front().starts_with('-')) {
        const auto store = openStore(context);
        if (!store)
            return;
        const auto model = store->find(arguments.front());
        if (!model || !model->isInstalled()) {
            report(context,
                   model ? cluster::Error{cluster::ErrorCode::NotFound,
                                          model->name + " is not on this machine: 'slipwayctl models pull "
                                              + model->name + "' gets it"}
                         : model.error());
            return;
        }
        const std::string &word = arguments.front();
        const bool isName = word == model->name || word.starts_with("hf:")
            || std::ranges::find(model->aliases, word) != model->aliases.end();
        arguments.front() = model->path.string();
        if (isName && !has(arguments, "--served-model-name"))
            arguments.insert(arguments.end(), {"--served-model-name", model->name});
    }
    arguments.insert(arguments.begin(), {*engine, "serve"});
    std::vector<char *> words;
    for (std::string &argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    ::execv(words[0], words.data());
    report(context,
           {cluster::ErrorCode::FailedPrecondition,
            "can't start " + *engine + " (" + std::strerror(errno) + "): check the installation"});
}

} // namespace

void addServeCommand(CLI::App &app, CommandContext &context)
{
    CLI::App *command = app.add_subcommand(
        "serve", "Serve a model: MODEL and the flags of 'vllm serve' (--host, --port, ...)");
    command->prefix_command()->fallthrough(false); // all that follows is the engine's
    command->footer(
        "MODEL is a name of 'slipwayctl models list' or a GGUF file. All flags are slipway-engine's: "
        "'slipway-engine serve --help' lists them.");
    command->callback([&context, command] { serve(context, command->remaining()); });
}

} // namespace slipwayctl
