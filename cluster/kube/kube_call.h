#pragma once

#include "cluster/kube/kube_client.h"

#include <nlohmann/json.hpp>

namespace cluster {

/// One request as the verbs make it.
struct KubeClient::Call
{
    std::string method = "GET";
    std::string target; ///< path and query
    std::string body;
    std::string contentType;
    std::string accept = "application/json";
    bool isRepeatable = true; ///< sending it twice does no more than sending it once
    std::string doing; ///< for messages: "creating pods default/x"
};

/// Query parameters in the order of their adding; empty values are left out.
class QueryString
{
public:
    void add(std::string_view name, std::string_view value)
    {
        if (value.empty())
            return;
        m_text += m_text.empty() ? '?' : '&';
        m_text += name;
        m_text += '=';
        m_text += percentEncoded(value);
    }
    void add(std::string_view name, std::int64_t value) { add(name, std::to_string(value)); }

    [[nodiscard]] const std::string &text() const { return m_text; }

private:
    std::string m_text;
};

} // namespace cluster
