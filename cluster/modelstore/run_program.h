#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"

#include <string>
#include <vector>

namespace cluster {

struct ProgramOutcome
{
    int exitStatus = 0; ///< 128 + signal where a signal ended it
    std::string output; ///< standard output and error together; only its last 64 KiB
};

/// Runs `arguments[0]`, found on PATH, without a shell and with nothing on its standard input, and waits for
/// its end. Cancelling ends it (SIGTERM, after two seconds SIGKILL), with what it started itself. Errors:
/// NotFound where there is no such program; Cancelled.
Result<ProgramOutcome> runProgram(const std::vector<std::string> &arguments, const CancelToken &cancel = {});

} // namespace cluster
