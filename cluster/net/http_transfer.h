#pragma once

#include "cluster/net/http_client.h"

#include <curl/curl.h>

namespace cluster {

/// One exchange on one libcurl multi handle, from the first byte to the last. Lives on the calling thread's
/// stack.
class HttpTransfer
{
public:
    HttpTransfer(const HttpRequest &request, const HttpOptions &options, const HeadersHandler &onHeaders,
                 const DataHandler &onData);
    ~HttpTransfer();
    HttpTransfer(const HttpTransfer &) = delete;
    HttpTransfer &operator=(const HttpTransfer &) = delete;

    Result<HttpResponse> run(CURLM *multi);

private:
    using Clock = std::chrono::steady_clock;

    Status checkRequest() const;
    void setUp();
    void setUpConnection();
    Status drive(CURLM *multi);
    Status checkLimits() const;
    std::chrono::milliseconds longestWait() const;
    Status outcome(CURLcode code) const;

    // libcurl's callbacks, on the calling thread
    static std::size_t onHeaderLine(char *data, std::size_t size, std::size_t count, void *self);
    static std::size_t onBody(char *data, std::size_t size, std::size_t count, void *self);
    static int onRequestStart(void *self, char *remoteIp, char *localIp, int remotePort, int localPort);
    static int onProgress(void *self, curl_off_t downTotal, curl_off_t down, curl_off_t upTotal,
                          curl_off_t up);
    void takeHeaderLine(std::string_view line);
    bool tellHeaders();
    template<typename Call>
    bool handle(Call call);

    const HttpRequest &m_request;
    const HttpOptions &m_options;
    const HeadersHandler &m_onHeaders;
    const DataHandler &m_onData;
    std::string m_host;
    CURL *m_easy;
    curl_slist *m_headerList = nullptr;
    char m_errorText[CURL_ERROR_SIZE] = {};
    HttpResponse m_response;
    bool m_hadHeaders = false;
    bool m_isConnected = false;
    bool m_wantsStop = false;
    std::optional<Error> m_handlerError;
    std::int64_t m_receivedBytes = 0;
    curl_off_t m_sentBytes = 0;
    Clock::time_point m_lastActivity = Clock::now();
};

} // namespace cluster
