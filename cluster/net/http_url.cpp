#include "cluster/net/http_client.h"

#include <arpa/inet.h>
#include <array>
#include <curl/curl.h>
#include <strings.h>

namespace cluster {

namespace {

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string urlPart(CURLU *url, CURLUPart part)
{
    char *text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
        return {};
    std::string copy(text);
    curl_free(text);
    return copy;
}

bool isLoopbackHost(std::string host)
{
    if (host.size() > 2 && host.front() == '[')
        host = host.substr(1, host.size() - 2);
    constexpr std::string_view suffix = ".localhost";
    if (strcasecmp(host.c_str(), "localhost") == 0)
        return true;
    if (host.size() > suffix.size()
        && strcasecmp(host.c_str() + host.size() - suffix.size(), suffix.data()) == 0)
        return true;
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    in6_addr v6{};
    return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

UrlHandle parseUrl(std::string_view text)
{
    UrlHandle url(curl_url(), &curl_url_cleanup);
    const std::string copy(text);
    if (url && curl_url_set(url.get(), CURLUPART_URL, copy.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        url.reset();
    return url;
}

} // namespace

bool isLoopbackUrl(std::string_view url)
{
    const UrlHandle parsed = parseUrl(url);
    return parsed && isLoopbackHost(urlPart(parsed.get(), CURLUPART_HOST));
}

std::string hostOfUrl(std::string_view url)
{
    const UrlHandle parsed = parseUrl(url);
    if (!parsed)
        return "(not a URL)";
    std::string host = urlPart(parsed.get(), CURLUPART_HOST);
    const std::string port = urlPart(parsed.get(), CURLUPART_PORT);
    if (!port.empty())
        host += ":" + port;
    return host;
}

std::optional<std::string_view> HttpResponse::header(std::string_view name) const
{
    for (const HttpHeader &header : headers) {
        if (header.name.size() == name.size()
            && strncasecmp(header.name.data(), name.data(), name.size()) == 0)
            return header.value;
    }
    return std::nullopt;
}

} // namespace cluster
