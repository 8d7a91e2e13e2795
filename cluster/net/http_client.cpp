#include "cluster/net/http_client.h"

#include "cluster/net/http_transfer.h"

#include <mutex>

namespace cluster {

/// Multi handles that no call is using; each keeps its own connections alive. A call has one to itself.
class HttpClient::ConnectionPool
{
public:
    ~ConnectionPool()
    {
        for (CURLM *multi : m_idle)
            curl_multi_cleanup(multi);
    }

    CURLM *take()
    {
        const std::lock_guard lock(m_mutex);
        if (m_idle.empty())
            return curl_multi_init();
        CURLM *multi = m_idle.back();
        m_idle.pop_back();
        return multi;
    }

    void giveBack(CURLM *multi)
    {
        constexpr std::size_t keptCount = 8;
        {
            const std::lock_guard lock(m_mutex);
            if (m_idle.size() < keptCount) {
                m_idle.push_back(multi);
                return;
            }
        }
        curl_multi_cleanup(multi);
    }

private:
    std::mutex m_mutex; ///< guards m_idle
    std::vector<CURLM *> m_idle;
};

HttpClient::HttpClient() : m_pool(std::make_unique<ConnectionPool>())
{
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::stream(const HttpRequest &request, const HeadersHandler &onHeaders,
                                        const DataHandler &onData, const HttpOptions &options)
{
    CURLM *multi = m_pool->take();
    if (!multi)
        return fail(ErrorCode::ResourceExhausted, "out of memory while talking to " + hostOfUrl(request.url));
    Result<HttpResponse> result = HttpTransfer(request, options, onHeaders, onData).run(multi);
    m_pool->giveBack(multi);
    return result;
}

Result<HttpResponse> HttpClient::send(const HttpRequest &request, const HttpOptions &options)
{
    std::string body;
    const DataHandler collect = [&](std::string_view bytes) -> Result<Reading> {
        if (bytes.size() > options.maxBodyBytes - body.size())
            return fail(ErrorCode::ResourceExhausted,
                        "the answer of " + hostOfUrl(request.url) + " is larger than the "
                            + std::to_string(options.maxBodyBytes) + " bytes allowed: check the address");
        body += bytes;
        return Reading::Continue;
    };
    Result<HttpResponse> response = stream(request, nullptr, collect, options);
    if (response)
        response->body = std::move(body);
    return response;
}

} // namespace cluster
