#include "engine/runtime/library_log.h"

#include "log.h" // llama.cpp's common
#include <cstring>
#include <ggml.h>
#include <llama.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace engine {

namespace {

void writeAll(const char *text, std::size_t length)
{
    while (length > 0) {
        const ssize_t written = ::write(STDERR_FILENO, text, length);
        if (written <= 0)
            return;
        text += written;
        length -= static_cast<std::size_t>(written);
    }
}

// In an abort the heap may be broken: nothing is allocated here.
void onAbort(const char *message)
{
    constexpr char prefix[] = "slipway-runner: abort: ";
    writeAll(prefix, sizeof prefix - 1);
    const char *const lineEnd = std::strchr(message, '\n');
    writeAll(message,
             lineEnd != nullptr ? static_cast<std::size_t>(lineEnd - message) : std::strlen(message));
    writeAll("\n", 1);
}

/// Warnings about what is meant to be so: one pool for many requests, and all cells of sliding windows kept
/// to share.
bool isExpected(std::string_view text)
{
    return text.find("n_ctx_seq (") != std::string_view::npos
        || text.find("using full-size SWA cache") != std::string_view::npos;
}

void onLog(ggml_log_level level, const char *text, void * /*unused*/)
{
    thread_local ggml_log_level current = GGML_LOG_LEVEL_NONE;
    const bool continues = level == GGML_LOG_LEVEL_CONT;
    if (!continues)
        current = level;
    if (current != GGML_LOG_LEVEL_WARN && current != GGML_LOG_LEVEL_ERROR)
        return;
    if (isExpected(text))
        return;
    std::string line = continues ? "" : "slipway-runner: ";
    line += text;
    writeAll(line.data(), line.size());
}

} // namespace

void routeLibraryLog()
{
    ggml_set_abort_callback(onAbort);
    llama_log_set(onLog, nullptr);
    ggml_log_set(onLog, nullptr);
    common_log_set_verbosity_thold(LOG_LEVEL_ERROR);
}

} // namespace engine
