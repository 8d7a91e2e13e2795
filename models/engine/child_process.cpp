#include "models/engine/child_process.h"

#include <QProcess>
#include <csignal>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace models {

void endWithThisProcess(QProcess &process)
{
#ifdef __linux__
    // Runs in the child between fork and exec: only async-signal-safe calls.
    process.setChildProcessModifier([parent = ::getpid()] {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) // it died before the line above
            ::_exit(1);
    });
#else
    Q_UNUSED(process); // slipway-engine watches its parent itself (--die-with-parent)
#endif
}

} // namespace models
