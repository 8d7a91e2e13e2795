#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cluster::local {

struct ChildProgram
{
    std::string name; ///< for messages
    std::vector<std::string> arguments; ///< the first is the program's absolute path
    std::vector<std::string> environment; ///< "NAME=value", all of it: nothing is inherited
    std::filesystem::path workingFolder;
};

struct RunningChild
{
    pid_t pid = 0;
    int pidFd = -1; ///< readable when it has ended
    int output = -1; ///< what it prints, both streams; does not block
};

/// Starts it in a process group of its own, with no standard input. It is killed when the *thread* that calls
/// this ends (the kernel's rule for PR_SET_PDEATHSIG): call from one that lives as long as the child may.
/// Errors: NotFound, PermissionDenied, ResourceExhausted.
Result<RunningChild> startChild(const ChildProgram &program);

/// "exit code 3", "signal 9 (Killed)" from waitpid's status.
std::string describeExit(int waitStatus);

} // namespace cluster::local
