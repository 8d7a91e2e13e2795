#include "app/slipwayctl/local_engine.h"

#include "cluster/net/free_port.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace slipwayctl {

using cluster::ErrorCode;
using cluster::Result;
using cluster::Status;

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds pause{25};
constexpr std::chrono::seconds patience{5}; ///< between SIGTERM and SIGKILL

/// Between fork and exec: only what is safe there.
[[noreturn]] void becomeEngine(const std::vector<char *> &words, int log, pid_t parent)
{
    // The engine must not outlive us, however we end.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent)
        ::_exit(1);
    ::signal(SIGPIPE, SIG_DFL);
    ::setpgid(0, 0); // Ctrl-C is ours to deal with
    const int none = ::open("/dev/null", O_RDONLY);
    ::dup2(none, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
}

} // namespace

Result<std::string> findProgram(const std::string &name, const std::string &programPath)
{
    const fs::path beside = fs::path(programPath).parent_path() / name;
    if (::access(beside.c_str(), X_OK) == 0)
        return beside.string();
    const char *path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    std::string rest = path ? path : "";
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const fs::path candidate = fs::path(rest.substr(0, end)) / name;
        if (::access(candidate.c_str(), X_OK) == 0)
            return candidate.string();
        rest.erase(0, end + 1);
    }
    return cluster::fail(ErrorCode::NotFound,
                         name + " is neither beside slipwayctl (" + beside.parent_path().string()
                             + ") nor on PATH: install it");
}

Result<std::string> findEngine(const std::string &programPath)
{
    Result<std::string> found = findProgram("slipway-engine", programPath);
    if (!found)
        found.error().message += ", or name a server with --base-url";
    return found;
}

LocalEngine::LocalEngine(pid_t pid, std::string baseUrl, std::string logPath)
    : m_pid(pid), m_baseUrl(std::move(baseUrl)), m_logPath(std::move(logPath))
{
}

LocalEngine::LocalEngine(LocalEngine &&other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)), m_baseUrl(std::move(other.m_baseUrl)),
      m_logPath(std::exchange(other.m_logPath, {}))
{
}

LocalEngine::~LocalEngine()
{
    if (m_pid > 0) {
        ::kill(m_pid, SIGTERM);
        const auto limit = std::chrono::steady_clock::now() + patience;
        while (::waitpid(m_pid, nullptr, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > limit) {
                ::kill(m_pid, SIGKILL);
                ::waitpid(m_pid, nullptr, 0);
                break;
            }
            std::this_thread::sleep_for(pause);
        }
    }
    if (!m_logPath.empty())
        ::unlink(m_logPath.c_str());
}

Result<LocalEngine> LocalEngine::start(const std::string &programPath, const cluster::StoredModel &model,
                                       cluster::HttpClient &http, const cluster::CancelToken &cancel)
{
    const Result<std::string> program = findEngine(programPath);
    if (!program)
        return tl::unexpected(program.error());
    const std::string port = std::to_string(cluster::freeLoopbackPort());
    std::string logPath = (fs::temp_directory_path() / "slipway-engine-XXXXXX").string();
    const int log = ::mkostemp(logPath.data(), O_CLOEXEC);
    std::vector<std::string> arguments = {*program, "serve", model.path.string(),   "--host",  "127.0.0.1",
                                          "--port", port,    "--served-model-name", model.name};
    std::vector<char *> words;
    for (std::string &argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0)
        becomeEngine(words, log, parent);
    const int number = errno;
    if (log >= 0)
        ::close(log);
    LocalEngine engine(pid, "http://127.0.0.1:" + port, logPath);
    if (pid < 0)
        return cluster::fail(ErrorCode::ResourceExhausted,
                             std::string("can't start the engine: ") + std::strerror(number));
    if (auto ready = engine.waitUntilReady(http, cancel); !ready)
        return tl::unexpected(ready.error());
    return engine;
}

Status LocalEngine::waitUntilReady(cluster::HttpClient &http, const cluster::CancelToken &cancel)
{
    cluster::HttpRequest request;
    request.url = m_baseUrl + "/health";
    cluster::HttpOptions options;
    options.cancel = cancel;
    options.connectTimeout = std::chrono::seconds(1);
    options.idleTimeout = std::chrono::seconds(5);
    while (true) {
        if (::waitpid(m_pid, nullptr, WNOHANG) == m_pid) {
            m_pid = -1;
            return cluster::fail(ErrorCode::FailedPrecondition,
                                 "the local engine ended before it was ready: " + lastWords());
        }
        // The engine listens only once it can serve.
        const auto response = http.send(request, options);
        if (response && response->status == 200)
            return {};
        if (!response && response.error().code == ErrorCode::Cancelled)
            return tl::unexpected(response.error());
        std::this_thread::sleep_for(pause);
    }
}

std::string LocalEngine::lastWords() const
{
    std::ifstream log(m_logPath);
    std::string last = "it said nothing";
    for (std::string line; std::getline(log, line);) {
        if (!line.empty())
            last = line;
    }
    return last;
}

} // namespace slipwayctl
