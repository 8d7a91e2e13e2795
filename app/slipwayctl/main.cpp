#include "app/slipwayctl/command_line.h"

#include <cstdio>
#include <exception>
#include <filesystem>

namespace {

std::string ownPath(const char *word)
{
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string(word) : path.string();
}

/// What is wrong with the words, by the first one that nothing knows. CLI11 lists all of them, last first,
/// and of an unknown command it says only that one is missing.
std::string usageTrouble(const CLI::App &app, const CLI::ParseError &error)
{
    const std::vector<std::string> unknown = app.remaining(true);
    if (unknown.empty())
        return error.what();
    const std::string &word = unknown.front();
    const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
    if (kind != CLI::ExitCodes::RequiredError && kind != CLI::ExitCodes::ExtrasError)
        return error.what();
    if (word.starts_with('-'))
        return "unknown option " + word;
    if (kind == CLI::ExitCodes::RequiredError)
        return "unknown command '" + word + "'";
    std::string text = "unexpected argument '" + word + "'";
    if (app.got_subcommand("chat"))
        text += " (a message is given with -m)";
    else if (app.got_subcommand("complete"))
        text += " (a text is given with -p)";
    return text;
}

int run(int argc, char **argv)
{
    slipwayctl::Interrupts interrupts;
    slipwayctl::CommandContext context{interrupts, ownPath(argv[0])};
    CLI::App app("Slipway without a window: models, chat, metrics, serving, a GKE on this machine");
    app.name("slipwayctl");
    app.set_version_flag("--version", "slipwayctl " SLIPWAY_VERSION);
    std::string format = "text";
    app.add_option("-o,--output", format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->each([&context](const std::string &value) { context.wantsJson = value == "json"; });
    app.require_subcommand(1)->fallthrough();
    app.footer("Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n"
               "Models are kept in $SLIPWAY_CACHE/models (by default below ~/.cache/slipway).");
    slipwayctl::addModelsCommands(app, context);
    slipwayctl::addChatCommand(app, context);
    slipwayctl::addCompleteCommand(app, context);
    slipwayctl::addMetricsCommand(app, context);
    slipwayctl::addServeCommand(app, context);
    slipwayctl::addLocalCommands(app, context);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help and --version
        slipwayctl::report(context,
                           {cluster::ErrorCode::InvalidArgument, usageTrouble(app, error) + ": see --help"});
        return slipwayctl::exitUsage;
    }
    return context.exitStatus;
}

} // namespace

int main(int argc, char **argv)
{
    slipwayctl::keepStandardDescriptors();
    try {
        return slipwayctl::finalStatus(run(argc, argv));
    } catch (const std::exception &exception) {
        std::fprintf(stderr, "slipwayctl: %s\n", exception.what());
        return slipwayctl::exitFailure;
    }
}
