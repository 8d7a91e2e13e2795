#pragma once

#include "cluster/base/result.h"

/// What slipway-engine's exit code says; the reason is one line on stderr. In the README's table.
enum ExitCode {
    exitOk = 0, ///< Stopped on request (SIGINT, SIGTERM).
    exitInternal = 1, ///< Something unexpected.
    exitUsage
    = 2, ///< Command line: unknown flag, bad value; also what the model does not allow (TP, PP, context).
    exitBadModel = 3, ///< The model file is missing, damaged or of an unknown kind.
    exitAddress = 4, ///< The port is in use, or the address is not of this host.
    exitNoMemory = 5, ///< Not enough memory for the model and its cache.
    exitNoGroup = 6, ///< A worker does not listen, is busy, refuses the token, or is another build.
    exitRunner = 7, ///< The runner process died or hung again and again before it was ready.
};

/// What a failed start means: for a group, `grouped`.
[[nodiscard]] constexpr ExitCode exitCodeOf(cluster::ErrorCode code, bool grouped)
{
    using cluster::ErrorCode;
    switch (code) {
    case ErrorCode::ResourceExhausted:
        return exitNoMemory;
    case ErrorCode::InvalidArgument:
    case ErrorCode::DataLoss:
    case ErrorCode::NotFound:
    case ErrorCode::PermissionDenied:
        return exitBadModel;
    case ErrorCode::Unauthenticated:
    case ErrorCode::FailedPrecondition:
    case ErrorCode::DeadlineExceeded:
        return grouped ? exitNoGroup : exitRunner;
    default:
        return exitRunner;
    }
}
