#include "app/slipwayctl/answer_output.h"
#include "app/slipwayctl/session.h"

#include <iostream>
#include <iterator>
#include <memory>

namespace slipwayctl {

namespace {

struct Arguments
{
    SessionOptions session;
    GenerationOptions generation;
    std::string prompt;
    bool echo = false;
};

void complete(CommandContext &context, const Arguments &arguments, bool hasPrompt)
{
    cluster::CompletionRequest request;
    request.prompt = arguments.prompt;
    if (!hasPrompt)
        request.prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    const auto session = Session::open(context, arguments.session, Session::Need::Completion);
    if (!session) {
        report(context, session.error());
        return;
    }
    request.model = (*session)->model();
    request.sampling = arguments.generation.sampling;
    request.extraJson = arguments.generation.extraJson;
    request.echo = arguments.echo;
    AnswerOutput output(context, false);
    cluster::CancelSource stop;
    const cluster::CancelCallback onInterrupt(context.interrupts.begin(), [&stop] { stop.request_stop(); });
    cluster::CallOptions options;
    options.cancel = stop.get_token();
    output.finish((*session)->client().complete(request, output.handlers(stop), options));
}

} // namespace

void addCompleteCommand(CLI::App &app, CommandContext &context)
{
    const auto arguments = std::make_shared<Arguments>();
    CLI::App *command
        = app.add_subcommand("complete", "Let a model go on with a text; for base models too")->fallthrough();
    const CLI::Option *prompt
        = command->add_option("-p,--prompt", arguments->prompt, "the text; without it standard input");
    command->add_flag("--echo", arguments->echo, "print the text too");
    addSessionOptions(*command, arguments->session);
    addGenerationOptions(*command, arguments->generation);
    command->callback([&context, arguments, prompt] { complete(context, *arguments, prompt->count() > 0); });
}

} // namespace slipwayctl
