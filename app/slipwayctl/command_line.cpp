#include "app/slipwayctl/command_line.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace slipwayctl {

namespace {

int standardOutputError
    = 0; ///< errno of the first write that failed for another reason than a reader that went.

bool writeAll(int descriptor, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            if (descriptor == STDOUT_FILENO && errno != EPIPE && standardOutputError == 0)
                standardOutputError = errno;
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

const char *nameOf(cluster::ErrorCode code)
{
    using cluster::ErrorCode;
    switch (code) {
    case ErrorCode::InvalidArgument:
        return "INVALID_ARGUMENT";
    case ErrorCode::NotFound:
        return "NOT_FOUND";
    case ErrorCode::AlreadyExists:
        return "ALREADY_EXISTS";
    case ErrorCode::PermissionDenied:
        return "PERMISSION_DENIED";
    case ErrorCode::Unauthenticated:
        return "UNAUTHENTICATED";
    case ErrorCode::FailedPrecondition:
        return "FAILED_PRECONDITION";
    case ErrorCode::Aborted:
        return "ABORTED";
    case ErrorCode::ResourceExhausted:
        return "RESOURCE_EXHAUSTED";
    case ErrorCode::DeadlineExceeded:
        return "DEADLINE_EXCEEDED";
    case ErrorCode::Cancelled:
        return "CANCELLED";
    case ErrorCode::Unavailable:
        return "UNAVAILABLE";
    case ErrorCode::Unimplemented:
        return "UNIMPLEMENTED";
    case ErrorCode::DataLoss:
        return "DATA_LOSS";
    case ErrorCode::Internal:
        return "INTERNAL";
    case ErrorCode::Unknown:
        break;
    }
    return "UNKNOWN";
}

} // namespace

void keepStandardDescriptors()
{
    // A closed one would be given to the next file or socket, and what is printed would go there.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0)
            ::open("/dev/null", O_RDONLY); // takes the lowest number; writing to it fails, as it should
    }
}

int finalStatus(int status)
{
    if (standardOutputError == 0)
        return status;
    writeAll(STDERR_FILENO,
             std::string("slipwayctl: can't write to standard output (") + std::strerror(standardOutputError)
                 + "): is the disk full?\n");
    return status == exitSuccess ? exitFailure : status;
}

bool print(std::string_view text)
{
    return writeAll(STDOUT_FILENO, text);
}

bool printJson(const nlohmann::ordered_json &json)
{
    return print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void remark(const CommandContext &context, std::string_view text)
{
    if (!context.wantsJson)
        writeAll(STDERR_FILENO, std::string(text) + "\n");
}

nlohmann::ordered_json toJson(const cluster::Error &error)
{
    return {{"code", nameOf(error.code)}, {"message", error.message}};
}

void report(CommandContext &context, const cluster::Error &error)
{
    const bool isInterrupted = error.code == cluster::ErrorCode::Cancelled && context.interrupts.happened();
    context.exitStatus = isInterrupted ? exitInterrupted : exitFailure;
    if (context.wantsJson) {
        printJson({{"error", toJson(error)}});
        return;
    }
    std::string line = error.message;
    for (char &c : line)
        c = c == '\n' || c == '\r' ? ' ' : c;
    writeAll(STDERR_FILENO, "slipwayctl: " + line + "\n");
}

} // namespace slipwayctl
