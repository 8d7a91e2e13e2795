// slipway-pod-init: starts a container's process for the node agent, stays beside it, and lets nothing of it
// outlive it or the agent. Input: a LaunchSpec on file descriptor 3. Output: lines on descriptor 4: "started
// PID", "error TEXT" or "exit CODE SIGNAL". SIGTERM and the like are handed on; SIGUSR1 kills the process.

#include "cluster/local/nodeagent/init/launch_spec.h"
#include "cluster/local/nodeagent/init/root_folder.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cluster::local; // NOLINT: a program of one file

namespace {

constexpr int specFile = 3;
constexpr int statusFile = 4;
constexpr int startFailure = 128;

volatile sig_atomic_t mainPid = 0; // of the process that signals are handed on to

void say(const std::string &line)
{
    const std::string text = line + "\n";
    (void)!::write(statusFile, text.data(), text.size());
}

[[noreturn]] void giveUp(const std::string &text)
{
    say("error " + text);
    ::_exit(startFailure);
}

std::string readAll(int file)
{
    std::string text;
    char buffer[8192];
    for (;;) {
        const ssize_t size = ::read(file, buffer, sizeof buffer);
        if (size <= 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(size));
    }
}

void handOn(int signal)
{
    if (mainPid > 0)
        ::kill(mainPid, signal == SIGUSR1 ? SIGKILL : signal);
}

void handOnSignals()
{
    struct sigaction action
    {
    };
    action.sa_handler = handOn;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH})
        ::sigaction(signal, &action, nullptr);
}

void resetSignals()
{
    for (int signal = 1; signal < NSIG; ++signal)
        ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Ends every process below this one that is left, also those that keep forking.
void endDescendants()
{
    for (int round = 0; round < 100; ++round) {
        const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        const std::string children = file < 0 ? "" : readAll(file);
        if (file >= 0)
            ::close(file);
        if (children.empty())
            return;
        // Children that are killed leave theirs to us: the subreaper.
        for (const char *at = children.c_str(); *at != '\0';) {
            char *end = nullptr;
            const long pid = std::strtol(at, &end, 10);
            if (end == at)
                break;
            ::kill(static_cast<pid_t>(pid), SIGKILL);
            at = *end == ' ' ? end + 1 : end;
        }
        while (::waitpid(-1, nullptr, 0) > 0) {}
    }
}

/// The main process, from fork to exec. `errorPipe` gets errno if it comes to nothing.
[[noreturn]] void becomeMain(const LaunchSpec &spec, int errorPipe)
{
    resetSignals();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setsid();
    if (spec.hasTerminal)
        ::ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    std::vector<char *> arguments, variables;
    for (const std::string &argument : spec.arguments)
        arguments.push_back(const_cast<char *>(argument.c_str())); // NOLINT: exec's old signature
    arguments.push_back(nullptr);
    for (const std::string &variable : spec.environment) {
        variables.push_back(const_cast<char *>(variable.c_str())); // NOLINT
        if (variable.starts_with("PATH="))
            ::setenv("PATH", variable.c_str() + 5, 1); // execvpe looks there
    }
    variables.push_back(nullptr);
    ::close(specFile);
    ::close(statusFile);
    int number = 0;
    if (::chdir(spec.workingFolder.empty() ? "/" : spec.workingFolder.c_str()) != 0) {
        number = -errno; // negative: it was the folder
    } else {
        ::execvpe(arguments[0], arguments.data(), variables.data());
        number = errno;
    }
    (void)!::write(errorPipe, &number, sizeof number);
    ::_exit(startFailure);
}

std::string startError(const LaunchSpec &spec, int number)
{
    if (number < 0)
        return "chdir to cwd (\"" + spec.workingFolder
            + "\") set in config.json failed: " + std::strerror(-number);
    const bool isNotFound = number == ENOENT && spec.arguments[0].find('/') == std::string::npos;
    return "exec: \"" + spec.arguments[0]
        + "\": " + (isNotFound ? "executable file not found in $PATH" : std::strerror(number));
}

/// Of this process, and so of all that it starts. What can't be had is left out: the container runs without.
void takeLimits(const LaunchSpec &spec)
{
    if (!spec.cgroup.empty()) {
        const int file = ::open((spec.cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
        if (file >= 0) {
            (void)!::write(file, "0", 1);
            ::close(file);
        }
    }
    if (spec.processors.empty())
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : spec.processors) {
        if (processor >= 0 && processor < CPU_SETSIZE)
            CPU_SET(processor, &set);
    }
    ::sched_setaffinity(0, sizeof set, &set);
}

/// Starts the main process and stays until it has ended. \param reported  The PID to tell; 0: the main
/// process's.
[[noreturn]] void runMain(const LaunchSpec &spec, int reported)
{
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        giveUp(std::string("can't make a pipe: ") + std::strerror(errno));
    handOnSignals();
    const pid_t pid = ::fork();
    if (pid < 0)
        giveUp(std::string("can't fork: ") + std::strerror(errno));
    if (pid == 0)
        becomeMain(spec, pipe[1]);
    mainPid = pid;
    ::close(pipe[1]);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::close(file); // the pipes' other ends see the end when the process's own are closed
    int number = 0;
    if (::read(pipe[0], &number, sizeof number) == sizeof number)
        giveUp(startError(spec, number));
    say("started " + std::to_string(reported != 0 ? reported : pid));
    int status = 0;
    for (;;) {
        const pid_t ended = ::waitpid(-1, &status, 0);
        if (ended == pid || (ended < 0 && errno == ECHILD))
            break;
    }
    mainPid = 0;
    endDescendants();
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const int code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
    say("exit " + std::to_string(code) + " " + std::to_string(signal));
    ::_exit(0);
}

bool enter(int pid, const char *name, int kind)
{
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + name;
    const std::string own = std::string("/proc/self/ns/") + name;
    char theirs[64] = {}, ours[64] = {};
    if (::readlink(path.c_str(), theirs, sizeof theirs - 1) < 0
        || ::readlink(own.c_str(), ours, sizeof ours - 1) < 0)
        return false;
    if (std::strcmp(theirs, ours) == 0)
        return true;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool isIn = file >= 0 && ::setns(file, kind) == 0;
    if (file >= 0)
        ::close(file);
    return isIn;
}

void join(int pid)
{
    const std::string rootPath = "/proc/" + std::to_string(pid) + "/root";
    // PIDs before mounts: afterwards this machine's /proc is out of sight.
    const int pidSpace
        = ::open(("/proc/" + std::to_string(pid) + "/ns/pid_for_children").c_str(), O_RDONLY | O_CLOEXEC);
    const int root = ::open(rootPath.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        giveUp("the container's process has gone");
    enter(pid, "user", CLONE_NEWUSER);
    if (pidSpace >= 0)
        ::setns(pidSpace, CLONE_NEWPID);
    enter(pid, "uts", CLONE_NEWUTS);
    if (!enter(pid, "mnt", CLONE_NEWNS))
        giveUp(std::string("can't enter the container: ") + std::strerror(errno));
    if (::fchdir(root) != 0 || ::chroot(".") != 0) {
        // Without namespaces of its own the container's root is ours already.
        (void)!::chdir("/");
    }
}

/// Namespaces and mounts; in a PID namespace of its own the first child plays init in it.
void isolate(const LaunchSpec &spec)
{
    if (!makeNamespaces(spec.ownMounts, spec.ownProcesses))
        giveUp(std::string("can't make namespaces: ") + std::strerror(errno));
    if (spec.ownMounts) {
        if (!spec.hostName.empty())
            (void)!::sethostname(spec.hostName.c_str(), spec.hostName.size());
        const std::string error = buildRoot(spec.rootFolder, spec.mounts);
        if (!error.empty())
            giveUp(error);
    }
}

void enterRoot(const LaunchSpec &spec)
{
    if (!spec.ownMounts)
        return;
    if (spec.ownProcesses) {
        // Where the machine forbids it, programs see the whole machine's processes: no harm.
        (void)::mount("proc", (spec.rootFolder + "/proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      nullptr);
    }
    if (::chroot(spec.rootFolder.c_str()) != 0 || ::chdir("/") != 0)
        giveUp(std::string("can't enter the container's root: ") + std::strerror(errno));
}

/// The outer half of a container with a PID namespace: waits for the inner one and hands signals on.
[[noreturn]] void waitFor(pid_t inner)
{
    mainPid = inner;
    struct sigaction action
    {
    };
    action.sa_handler = [](int signal) { ::kill(mainPid, signal); };
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH})
        ::sigaction(signal, &action, nullptr);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::close(file);
    int status = 0;
    while (::waitpid(inner, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status))
        say("exit " + std::to_string(128 + WTERMSIG(status)) + " " + std::to_string(WTERMSIG(status)));
    ::_exit(0);
}

} // namespace

int main()
{
    const LaunchSpec spec = decodeLaunch(readAll(specFile));
    if (spec.arguments.empty()) {
        static constexpr char text[]
            = "slipway-pod-init is started by slipwayd; there is nothing to do by hand\n";
        (void)!::write(STDERR_FILENO, text, sizeof text - 1);
        return 2;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (spec.parentPid != 0 && ::getppid() != spec.parentPid)
        return startFailure; // it died before that took effect
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    rlimit noCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &noCore);
    ::fcntl(specFile, F_SETFD, FD_CLOEXEC);
    ::fcntl(statusFile, F_SETFD, FD_CLOEXEC);
    takeLimits(spec);
    if (spec.joinPid != 0)
        join(spec.joinPid);
    else
        isolate(spec);
    const bool hasInner = spec.ownProcesses || spec.joinPid != 0;
    if (!hasInner) {
        // Without a PID namespace a mere death would leave the main process's children: they are ended first.
        ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
        enterRoot(spec);
        runMain(spec, 0);
    }
    int pipe[2]; // tells the inner half its PID out here
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        giveUp(std::string("can't make a pipe: ") + std::strerror(errno));
    const pid_t inner = ::fork();
    if (inner < 0)
        giveUp(std::string("can't fork: ") + std::strerror(errno));
    if (inner != 0) {
        (void)!::write(pipe[1], &inner, sizeof inner);
        ::close(pipe[0]);
        ::close(pipe[1]);
        waitFor(inner);
    }
    ::prctl(PR_SET_PDEATHSIG, spec.joinPid != 0 ? SIGUSR1 : SIGKILL); // the kernel ends what is below a PID 1
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t known = 0;
    (void)!::read(pipe[0], &known, sizeof known);
    if (spec.joinPid == 0)
        enterRoot(spec);
    runMain(spec, known);
}
