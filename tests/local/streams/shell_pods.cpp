#include "shell_pods.h"

#include "shell_process.h"
#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;

namespace {

class FileLog : public LogReader
{
public:
    FileLog(boost::asio::io_context &io, std::filesystem::path path, const LogOptions &options)
        : m_path(std::move(path)), m_options(options), m_timer(io)
    {
        std::ifstream file(m_path, std::ios::binary);
        std::string text((std::istreambuf_iterator<char>(file)), {});
        m_offset = text.size();
        if (options.tailLines) {
            std::size_t start = text.size();
            for (std::int64_t lines = 0; start > 0; --start) {
                if (text[start - 1] == '\n' && start != text.size() && ++lines == *options.tailLines)
                    break;
            }
            text.erase(0, *options.tailLines == 0 ? text.size() : start);
        }
        if (options.limitBytes)
            text.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(*options.limitBytes)));
        m_text = std::move(text);
    }

    Result<std::string> read(std::size_t maxBytes) override
    {
        if (m_text.empty() && m_options.follow)
            refill();
        std::string part = m_text.substr(0, maxBytes);
        m_text.erase(0, part.size());
        return part;
    }
    [[nodiscard]] bool atEnd() const override
    {
        return m_text.empty() && (!m_options.follow || std::filesystem::exists(m_path.string() + ".ended"));
    }
    void whenMore(std::function<void()> wake) override
    {
        m_timer.expires_after(std::chrono::milliseconds(20));
        m_timer.async_wait([this, alive = std::weak_ptr(m_alive),
                            wake = std::move(wake)](const boost::system::error_code &error) {
            if (error || alive.expired()) // it may have gone with its handler queued
                return;
            refill();
            if (m_text.empty() && !atEnd())
                whenMore(wake);
            else
                wake();
        });
    }

private:
    void refill()
    {
        std::ifstream file(m_path, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(m_offset));
        const std::string more((std::istreambuf_iterator<char>(file)), {});
        m_offset += more.size();
        m_text += more;
    }

    const std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
    std::filesystem::path m_path;
    LogOptions m_options;
    boost::asio::steady_timer m_timer;
    std::size_t m_offset = 0;
    std::string m_text;
};

tl::unexpected<Error> noSuchPod(const std::string &nameSpace, const std::string &pod)
{
    return fail(ErrorCode::NotFound, "pod '" + nameSpace + "/" + pod + "' does not exist");
}

} // namespace

void ShellPods::add(const std::string &nameSpace, const std::string &pod, const std::string &address)
{
    m_addresses[nameSpace + "/" + pod] = address;
}

nlohmann::json ShellPods::pods(const std::string &) const
{
    nlohmann::json list = nlohmann::json::array();
    for (const auto &[key, address] : m_addresses) {
        const std::size_t slash = key.find('/');
        list.push_back({{"metadata",
                         {{"namespace", key.substr(0, slash)},
                          {"name", key.substr(slash + 1)},
                          {"labels", {{"app", key.substr(slash + 1)}}}}},
                        {"status", {{"phase", "Running"}}}});
    }
    return list;
}

Result<std::unique_ptr<LogReader>> ShellPods::openLog(const ContainerRef &ref, const std::string &,
                                                      const LogOptions &options)
{
    if (!m_addresses.contains(ref.podNamespace + "/" + ref.pod))
        return noSuchPod(ref.podNamespace, ref.pod);
    const std::string name = ref.podNamespace + "_" + ref.pod + "_" + ref.container;
    const std::filesystem::path path = m_logs / (name + (options.previous ? ".previous.log" : ".log"));
    if (!std::filesystem::exists(path))
        return fail(ErrorCode::InvalidArgument,
                    "container \"" + ref.container + "\" in pod \"" + ref.pod
                        + "\" is waiting to start: ContainerCreating");
    return std::make_unique<FileLog>(m_io, path, options);
}

Result<std::unique_ptr<ContainerProcess>> ShellPods::exec(const ContainerRef &ref, const std::string &,
                                                          const ExecOptions &options)
{
    if (!m_addresses.contains(ref.podNamespace + "/" + ref.pod))
        return noSuchPod(ref.podNamespace, ref.pod);
    return startShellProcess(m_io, options);
}

Result<std::string> ShellPods::podAddress(const std::string &podNamespace, const std::string &pod) const
{
    const auto found = m_addresses.find(podNamespace + "/" + pod);
    if (found == m_addresses.end())
        return noSuchPod(podNamespace, pod);
    return found->second;
}

std::vector<PodUsage> ShellPods::usage(const std::string &node)
{
    std::vector<PodUsage> all;
    for (const auto &[key, address] : m_addresses) {
        const std::size_t slash = key.find('/');
        ContainerUsage container{"main",         std::chrono::system_clock::now() - std::chrono::hours(1),
                                 90'000'000'000, 25'000'000,
                                 64 << 20,       48 << 20};
        all.push_back({key.substr(0, slash),
                       key.substr(slash + 1),
                       "uid-" + key.substr(slash + 1),
                       node.empty() ? "node-1" : node,
                       {container}});
    }
    return all;
}
