#include "cluster/net/http_transfer.h"

#include "cluster/net/curl_errors.h"

#include <exception>
#include <new>

namespace cluster {

namespace {

constexpr long connectionKeepAliveSeconds = 30;

bool isSafeInHeader(std::string_view text)
{
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

} // namespace

HttpTransfer::HttpTransfer(const HttpRequest &request, const HttpOptions &options,
                           const HeadersHandler &onHeaders, const DataHandler &onData)
    : m_request(request), m_options(options), m_onHeaders(onHeaders), m_onData(onData),
      m_host(hostOfUrl(request.url)), m_easy(curl_easy_init())
{
    if (!m_easy)
        throw std::bad_alloc();
}

HttpTransfer::~HttpTransfer()
{
    curl_easy_cleanup(m_easy);
    curl_slist_free_all(m_headerList);
}

Status HttpTransfer::checkRequest() const
{
    for (const HttpHeader &header : m_request.headers) {
        if (header.name.empty() || !isSafeInHeader(header.name) || !isSafeInHeader(header.value))
            return fail(ErrorCode::InvalidArgument,
                        "the header '" + header.name.substr(0, header.name.find_first_of("\r\n")) + "' for "
                            + m_host
                            + " has a line break in it: remove it (a key copied with its line end?)");
    }
    if (!isSafeInHeader(m_request.method) || m_request.method.empty())
        return fail(ErrorCode::InvalidArgument, "the HTTP method for " + m_host + " is not a word");
    return {};
}

void HttpTransfer::setUp()
{
    curl_easy_setopt(m_easy, CURLOPT_URL, m_request.url.c_str());
    curl_easy_setopt(m_easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(m_easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(m_easy, CURLOPT_ERRORBUFFER, m_errorText);
    curl_easy_setopt(m_easy, CURLOPT_USERAGENT, "slipway");
    curl_easy_setopt(m_easy, CURLOPT_FOLLOWLOCATION, m_options.followRedirects ? 1L : 0L);
    curl_easy_setopt(m_easy, CURLOPT_MAXREDIRS, 10L);
    for (const HttpHeader &header : m_request.headers) {
        // libcurl's spelling of a header without a value ends in a semicolon.
        const std::string line = header.value.empty() ? header.name + ";" : header.name + ": " + header.value;
        m_headerList = curl_slist_append(m_headerList, line.c_str());
    }
    // No waiting for "100 Continue" before a large body.
    m_headerList = curl_slist_append(m_headerList, "Expect:");
    curl_easy_setopt(m_easy, CURLOPT_HTTPHEADER, m_headerList);
    if (m_request.method == "HEAD") {
        curl_easy_setopt(m_easy, CURLOPT_NOBODY, 1L);
    } else if (!m_request.body.empty() || m_request.method == "POST" || m_request.method == "PUT") {
        curl_easy_setopt(m_easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(m_request.body.size()));
        curl_easy_setopt(m_easy, CURLOPT_POSTFIELDS, m_request.body.data());
        curl_easy_setopt(m_easy, CURLOPT_CUSTOMREQUEST, m_request.method.c_str());
    } else if (m_request.method != "GET") {
        curl_easy_setopt(m_easy, CURLOPT_CUSTOMREQUEST, m_request.method.c_str());
    }
    curl_easy_setopt(m_easy, CURLOPT_HEADERFUNCTION, &HttpTransfer::onHeaderLine);
    curl_easy_setopt(m_easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_WRITEFUNCTION, &HttpTransfer::onBody);
    curl_easy_setopt(m_easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_PREREQFUNCTION, &HttpTransfer::onRequestStart);
    curl_easy_setopt(m_easy, CURLOPT_PREREQDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(m_easy, CURLOPT_XFERINFOFUNCTION, &HttpTransfer::onProgress);
    curl_easy_setopt(m_easy, CURLOPT_XFERINFODATA, this);
    setUpConnection();
}

void HttpTransfer::setUpConnection()
{
    curl_easy_setopt(m_easy, CURLOPT_NOSIGNAL, 1L);
    // A cancelled call must not wait for a name server's answer.
    curl_easy_setopt(m_easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(m_easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(m_options.connectTimeout.count()));
    curl_easy_setopt(m_easy, CURLOPT_MAXAGE_CONN, connectionKeepAliveSeconds);
    curl_easy_setopt(m_easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(m_easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (isLoopbackUrl(m_request.url))
        curl_easy_setopt(m_easy, CURLOPT_PROXY, ""); // also switches the environment's proxies off
    if (!m_options.caFile.empty())
        curl_easy_setopt(m_easy, CURLOPT_CAINFO, m_options.caFile.c_str());
    if (!m_options.clientCertFile.empty()) {
        const std::string &keyFile
            = m_options.clientKeyFile.empty() ? m_options.clientCertFile : m_options.clientKeyFile;
        curl_easy_setopt(m_easy, CURLOPT_SSLCERT, m_options.clientCertFile.c_str());
        curl_easy_setopt(m_easy, CURLOPT_SSLKEY, keyFile.c_str());
    }
}

Result<HttpResponse> HttpTransfer::run(CURLM *multi)
{
    if (auto checked = checkRequest(); !checked)
        return tl::unexpected(checked.error());
    if (auto early = checkLimits(); !early)
        return tl::unexpected(early.error());
    setUp();
    curl_multi_add_handle(multi, m_easy);
    const Status driven = [&] {
        const CancelCallback wakeUp(m_options.cancel, [multi] { curl_multi_wakeup(multi); });
        return drive(multi);
    }();
    // A transfer that is taken out before its end has its connection closed: that is what tells the server.
    curl_multi_remove_handle(multi, m_easy);
    if (!driven)
        return tl::unexpected(driven.error());
    char *effectiveUrl = nullptr;
    if (curl_easy_getinfo(m_easy, CURLINFO_EFFECTIVE_URL, &effectiveUrl) == CURLE_OK && effectiveUrl)
        m_response.url = effectiveUrl;
    return std::move(m_response);
}

Status HttpTransfer::drive(CURLM *multi)
{
    while (true) {
        int runningCount = 0;
        if (const CURLMcode code = curl_multi_perform(multi, &runningCount); code != CURLM_OK)
            return fail(ErrorCode::Internal,
                        "talking to " + m_host + " failed (" + curl_multi_strerror(code) + ")");
        int queuedCount = 0;
        while (const CURLMsg *message = curl_multi_info_read(multi, &queuedCount)) {
            if (message->msg == CURLMSG_DONE)
                return outcome(message->data.result);
        }
        if (auto limits = checkLimits(); !limits)
            return limits;
        curl_multi_poll(multi, nullptr, 0, static_cast<int>(longestWait().count()), nullptr);
    }
}

Status HttpTransfer::checkLimits() const
{
    if (m_options.cancel.stop_requested())
        return fail(ErrorCode::Cancelled, "stopped before the answer of " + m_host + " was complete");
    const auto now = Clock::now();
    if (m_options.deadline.hasPassed(now))
        return fail(ErrorCode::DeadlineExceeded,
                    "no complete answer from " + m_host
                        + " in the time allowed: try again, or allow more time if the server is busy");
    if (m_isConnected && m_options.idleTimeout.count() > 0 && now - m_lastActivity >= m_options.idleTimeout)
        return fail(ErrorCode::DeadlineExceeded,
                    m_host + " is connected but has sent nothing for "
                        + std::to_string(m_options.idleTimeout.count())
                        + " ms: the server hangs or is overloaded; see its log, or allow more time");
    return {};
}

std::chrono::milliseconds HttpTransfer::longestWait() const
{
    using std::chrono::milliseconds;
    const auto now = Clock::now();
    Clock::duration wait = std::chrono::seconds(5);
    wait = std::min(wait, m_options.deadline.remaining(now));
    if (m_options.idleTimeout.count() > 0)
        wait = std::min<Clock::duration>(wait, m_lastActivity + m_options.idleTimeout - now);
    return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(wait));
}

Status HttpTransfer::outcome(CURLcode code) const
{
    if (m_handlerError)
        return tl::unexpected(*m_handlerError);
    if (m_wantsStop)
        return {};
    if (m_options.cancel.stop_requested())
        return checkLimits();
    // libcurl takes a connection that ends inside the headers for an answer.
    const bool isCut = code == CURLE_OK && !m_hadHeaders;
    if (code == CURLE_OK && !isCut)
        return {};
    return tl::unexpected(toError({isCut ? CURLE_GOT_NOTHING : code, m_errorText, m_host, m_receivedBytes,
                                   m_hadHeaders, m_isConnected}));
}

template<typename Call>
bool HttpTransfer::handle(Call call)
{
    // Nothing may be thrown through libcurl's frames.
    try {
        const Result<Reading> wanted = call();
        if (!wanted)
            m_handlerError = wanted.error();
        else if (*wanted == Reading::Stop)
            m_wantsStop = true;
    } catch (const std::exception &exception) {
        m_handlerError
            = Error{ErrorCode::Internal, "reading the answer of " + m_host + " failed: " + exception.what()};
    }
    return !m_handlerError && !m_wantsStop;
}

std::size_t HttpTransfer::onHeaderLine(char *data, std::size_t size, std::size_t count, void *self)
{
    auto *transfer = static_cast<HttpTransfer *>(self);
    const std::string_view line = trimmed(std::string_view(data, size * count));
    transfer->m_lastActivity = Clock::now();
    if (!line.empty()) {
        transfer->takeHeaderLine(line);
        return size * count;
    }
    return transfer->tellHeaders() ? size * count : 0;
}

void HttpTransfer::takeHeaderLine(std::string_view line)
{
    if (m_hadHeaders)
        return; // a trailer after the body
    if (line.starts_with("HTTP/")) {
        m_response.headers.clear(); // after an interim or redirect answer
        return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos)
        return;
    m_response.headers.push_back(
        {std::string(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1)))});
}

bool HttpTransfer::tellHeaders()
{
    long status = 0;
    curl_easy_getinfo(m_easy, CURLINFO_RESPONSE_CODE, &status);
    const bool isInterim = status < 200;
    const bool isFollowed
        = m_options.followRedirects && status >= 300 && status < 400 && m_response.header("location");
    if (isInterim || isFollowed || m_hadHeaders)
        return true;
    m_hadHeaders = true;
    m_response.status = static_cast<int>(status);
    return !m_onHeaders || handle([this] { return m_onHeaders(m_response); });
}

std::size_t HttpTransfer::onBody(char *data, std::size_t size, std::size_t count, void *self)
{
    auto *transfer = static_cast<HttpTransfer *>(self);
    const std::string_view bytes(data, size * count);
    transfer->m_lastActivity = Clock::now();
    if (!transfer->m_hadHeaders)
        return bytes.size(); // the body of a redirect
    transfer->m_receivedBytes += static_cast<std::int64_t>(bytes.size());
    if (!transfer->m_onData)
        return bytes.size();
    return transfer->handle([&] { return transfer->m_onData(bytes); }) ? bytes.size() : 0;
}

int HttpTransfer::onRequestStart(void *self, char *, char *, int, int)
{
    auto *transfer = static_cast<HttpTransfer *>(self);
    transfer->m_isConnected = true;
    transfer->m_lastActivity = Clock::now();
    return CURL_PREREQFUNC_OK;
}

int HttpTransfer::onProgress(void *self, curl_off_t, curl_off_t, curl_off_t, curl_off_t up)
{
    auto *transfer = static_cast<HttpTransfer *>(self);
    if (up != transfer->m_sentBytes) {
        transfer->m_sentBytes = up;
        transfer->m_lastActivity = Clock::now();
    }
    return 0;
}

} // namespace cluster
