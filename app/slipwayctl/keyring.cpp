#include "app/slipwayctl/keyring.h"

#include "cluster/base/cancellation.h"
#include "cluster/modelstore/run_program.h"

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace slipwayctl {

namespace fs = std::filesystem;

namespace {

/// Without a session bus there is no keyring, and asking for one may start a bus that nobody ends.
bool hasSessionBus()
{
    std::error_code ignored;
    const char *address = std::getenv("DBUS_SESSION_BUS_ADDRESS"); // NOLINT(concurrency-mt-unsafe)
    return (address != nullptr && *address != '\0')
        || fs::exists("/run/user/" + std::to_string(::getuid()) + "/bus", ignored);
}

/// Stops what runs when the time is up.
class Deadline
{
public:
    explicit Deadline(std::chrono::milliseconds patience)
        : m_thread([this, patience](const std::stop_token &ending) {
              std::mutex mutex;
              std::unique_lock lock(mutex);
              m_end.wait_for(lock, ending, patience, [] { return false; });
              m_source.request_stop();
          })
    {
    }

    [[nodiscard]] cluster::CancelToken token() const { return m_source.get_token(); }

private:
    cluster::CancelSource m_source;
    std::condition_variable_any m_end;
    std::jthread m_thread; // last: it uses the others
};

} // namespace

std::string secretFromKeyring(const std::string &programPath, const std::string &name,
                              std::chrono::milliseconds patience)
{
    const fs::path program = fs::path(programPath).parent_path() / "slipway-keyring";
    std::error_code ignored;
    if (!hasSessionBus() || !fs::exists(program, ignored))
        return {};
    const Deadline deadline(patience);
    const auto outcome = cluster::runProgram({program.string(), "read", name}, deadline.token());
    if (!outcome || outcome->exitStatus != 0)
        return {};
    constexpr std::string_view mark = "secret:"; // the output has what libraries say of themselves too
    const std::size_t at = outcome->output.find(mark);
    if (at == std::string::npos)
        return {};
    const std::size_t begin = at + mark.size();
    return outcome->output.substr(begin, outcome->output.find('\n', begin) - begin);
}

} // namespace slipwayctl
