#pragma once

#include "cluster/base/result.h"

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// Signs JSON web tokens (RS256) with a key of its own, made when it is first needed. Any thread.
class IdentityTokenSigner
{
public:
    IdentityTokenSigner();
    ~IdentityTokenSigner();
    IdentityTokenSigner(const IdentityTokenSigner &) = delete;
    IdentityTokenSigner &operator=(const IdentityTokenSigner &) = delete;

    /// "HEADER.CLAIMS.SIGNATURE". Internal: OpenSSL makes no key.
    Result<std::string> sign(const nlohmann::json &claims);

private:
    struct Key;
    std::mutex m_mutex; ///< guards m_key
    std::unique_ptr<Key> m_key;
};

} // namespace cluster::local
