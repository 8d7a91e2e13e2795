#include "app/slipwayctl/answer_output.h"
#include "app/slipwayctl/session.h"

#include <iostream>
#include <iterator>
#include <memory>
#include <unistd.h>

namespace slipwayctl {

namespace {

struct Arguments
{
    SessionOptions session;
    GenerationOptions generation;
    std::string system;
    std::string message;
};

/// Asks once; the answer joins the conversation if it is whole.
void ask(CommandContext &context, Session &session, const Arguments &arguments, cluster::ChatRequest &request,
         const std::string &message)
{
    request.messages.push_back({"user", message, "", "", ""});
    AnswerOutput output(context, arguments.generation.showsReasoning);
    // Stops for two reasons: the user's interrupt, and a reader that is gone.
    cluster::CancelSource stop;
    const cluster::CancelCallback onInterrupt(context.interrupts.begin(), [&stop] { stop.request_stop(); });
    cluster::CallOptions options;
    options.cancel = stop.get_token();
    const cluster::AnswerOutcome outcome = session.client().chat(request, output.handlers(stop), options);
    output.finish(outcome);
    if (outcome.status && !outcome.answer.choices.empty())
        request.messages.push_back({"assistant", outcome.answer.choices.front().content, "", "", ""});
    else
        request.messages.pop_back();
}

void converse(CommandContext &context, Session &session, const Arguments &arguments,
              cluster::ChatRequest &request)
{
    remark(context, "Chatting with " + session.model() + ". Ctrl-C stops an answer, Ctrl-D ends.");
    while (!context.interrupts.mustEnd()) {
        context.interrupts.begin();
        std::cerr << "> " << std::flush;
        std::string line;
        if (!std::getline(std::cin, line))
            break;
        if (line.find_first_not_of(" \t\r") != std::string::npos)
            ask(context, session, arguments, request, line);
    }
    std::cerr << '\n';
    context.exitStatus = exitSuccess;
}

void chat(CommandContext &context, const Arguments &arguments, bool hasMessage)
{
    const bool isInteractive = !hasMessage && ::isatty(STDIN_FILENO) == 1 && !context.wantsJson;
    std::string message = arguments.message;
    if (!hasMessage && !isInteractive)
        message.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (!isInteractive && message.find_first_not_of(" \t\r\n") == std::string::npos) {
        report(context,
               {cluster::ErrorCode::InvalidArgument,
                "there is no message: give one with -m, or on standard input"});
        context.exitStatus = exitUsage;
        return;
    }
    const auto session = Session::open(context, arguments.session, Session::Need::Chat);
    if (!session) {
        report(context, session.error());
        return;
    }
    cluster::ChatRequest request;
    request.model = (*session)->model();
    request.sampling = arguments.generation.sampling;
    request.extraJson = arguments.generation.extraJson;
    if (!arguments.system.empty())
        request.messages.push_back({"system", arguments.system, "", "", ""});
    if (isInteractive)
        converse(context, **session, arguments, request);
    else
        ask(context, **session, arguments, request, message);
}

} // namespace

void addChatCommand(CLI::App &app, CommandContext &context)
{
    const auto arguments = std::make_shared<Arguments>();
    CLI::App *command
        = app.add_subcommand("chat", "Ask a chat model; without -m and input it is a conversation")
              ->fallthrough();
    const CLI::Option *message
        = command->add_option("-m,--message", arguments->message, "the message; without it standard input");
    command->add_option("--system", arguments->system, "the system prompt");
    addSessionOptions(*command, arguments->session);
    addGenerationOptions(*command, arguments->generation);
    command->callback([&context, arguments, message] { chat(context, *arguments, message->count() > 0); });
}

} // namespace slipwayctl
