#include "program_log.h"

#include <cstdio>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace {

/// Level names in capitals.
class LevelFlag final : public spdlog::custom_flag_formatter
{
public:
    void format(const spdlog::details::log_msg &message, const std::tm & /*time*/,
                spdlog::memory_buf_t &target) override
    {
        std::string_view name = "INFO";
        if (message.level == spdlog::level::debug)
            name = "DEBUG";
        else if (message.level == spdlog::level::warn)
            name = "WARNING";
        else if (message.level >= spdlog::level::err)
            name = "ERROR";
        target.append(name.data(), name.data() + name.size());
    }

    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override
    {
        return std::make_unique<LevelFlag>();
    }
};

} // namespace

void startLog(const std::string &level)
{
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelFlag>('*').set_pattern("%* %m-%d %H:%M:%S %v");
    auto log = spdlog::stderr_logger_st("slipway-engine");
    log->set_formatter(std::move(formatter));
    log->set_level(spdlog::level::from_str(level == "warning" ? "warn" : level));
    log->flush_on(spdlog::level::debug);
    spdlog::set_default_logger(log);
}

void printError(const std::string &command, const std::string &text)
{
    std::fprintf(stderr, "%s: error: %s\n", command.c_str(), text.c_str());
}
