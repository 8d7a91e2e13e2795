#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// Who shows a token that is not the user's own: a pod.
struct Caller
{
    /// As policies name it: "serviceAccount:x@…", "principal://…"; a principal has several names.
    std::vector<std::string> members;
    std::string words; ///< as refusals name it: the account's address, else "Caller"
};

/// Tokens of an hour, in memory: after a restart, clients fetch new ones as they do for a token that has
/// ended. Any thread.
class AccessTokens
{
public:
    using Time = std::chrono::system_clock::time_point;
    static constexpr std::chrono::seconds lifetime{3600};

    std::string issue(Caller caller, Time now);
    /// Nothing for a text that was never a token, or isn't any more.
    [[nodiscard]] std::optional<Caller> find(const std::string &token, Time now) const;

private:
    struct Issued
    {
        Caller caller;
        Time end;
    };
    mutable std::mutex m_mutex; ///< guards m_issued
    std::map<std::string, Issued, std::less<>> m_issued;
};

} // namespace cluster::local
