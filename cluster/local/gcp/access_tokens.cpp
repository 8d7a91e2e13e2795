#include "cluster/local/gcp/access_tokens.h"

#include "cluster/local/gcp/wire_values.h"

namespace cluster::local {

std::string AccessTokens::issue(Caller caller, Time now)
{
    constexpr int digits = 64;
    std::string token = "ya29.c.slipway-" + randomHex(digits);
    const std::scoped_lock lock(m_mutex);
    std::erase_if(m_issued, [now](const auto &entry) { return entry.second.end <= now; });
    m_issued[token] = {std::move(caller), now + lifetime};
    return token;
}

std::optional<Caller> AccessTokens::find(const std::string &token, Time now) const
{
    const std::scoped_lock lock(m_mutex);
    const auto found = m_issued.find(token);
    if (found == m_issued.end() || found->second.end <= now)
        return std::nullopt;
    return found->second.caller;
}

} // namespace cluster::local
