#include "cluster/local/gcp/gcp_service.h"

#include "cluster/local/gcp/partial_response.h"

#include <cstdio>
#include <ctime>

namespace cluster::local {

std::string GcpContext::timestamp() const
{
    using namespace std::chrono;
    const auto time = now().time_since_epoch();
    const auto whole = duration_cast<seconds>(time);
    const std::time_t clock = whole.count();
    std::tm parts{};
    gmtime_r(&clock, &parts);
    char text[40];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(text + length, sizeof text - length, ".%09lldZ",
                  static_cast<long long>(duration_cast<nanoseconds>(time - whole).count()));
    return text;
}

void GcpService::serve(const std::shared_ptr<ServerExchange> &exchange, std::span<const std::string> path)
{
    exchange->reply(partialResponse(exchange->request(), handle(exchange->request(), path)));
}

std::shared_ptr<BodySink> GcpService::openSink(const ServerRequest &, std::span<const std::string>)
{
    return nullptr;
}

} // namespace cluster::local
