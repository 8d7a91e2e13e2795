#pragma once

#include "cluster/base/result.h"
#include <string>
#include <vector>

namespace engine {

/// A program to be run as a child of this process.
struct ChildProgram
{
    std::string path; ///< Absolute, or relative to the working directory; PATH is not searched.
    std::vector<std::string> arguments; ///< Without the program's own name.
    std::vector<std::string> environment; ///< "NAME=value"; replaces or is added to this process's own.
};

/// This very executable with other arguments.
[[nodiscard]] ChildProgram ownProgram(std::vector<std::string> arguments);

/// A started child and our ends of what connects us. The descriptors belong to the caller.
struct SpawnedChild
{
    int pid = -1;
    int pidfd = -1; ///< Readable when the child has ended (Linux).
    int channel = -1; ///< Our end of a socket pair; the child has the other one as descriptor 3.
    int output = -1; ///< What the child writes to stdout and stderr.
};

/// Starts the program with a socket pair on descriptor 3, no other descriptors of ours, /dev/null for stdin,
/// and in a process group of its own (a Ctrl+C for us is not one for the child). The child is killed by the
/// kernel when the calling thread ends, so call from a thread that lives as long as the process. Errors:
/// NotFound, PermissionDenied (the program can't be run), ResourceExhausted (no processes, descriptors).
[[nodiscard]] cluster::Result<SpawnedChild> spawnChild(const ChildProgram &program);

} // namespace engine
