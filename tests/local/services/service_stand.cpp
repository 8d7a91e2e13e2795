#include "tests/local/services/service_stand.h"

#include "cluster/httpd/request_target.h"
#include "cluster/local/gcp/projects.h"

namespace tests {

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

std::string Answer::message() const
{
    return body.value("error", json::object()).value("message", std::string());
}

std::string Answer::header(const std::string &name) const
{
    return std::string(findHeader(response.headers, name).value_or(""));
}

ServiceStand::ServiceStand()
{
    restart();
}

void ServiceStand::restart()
{
    m_context.reset();
    m_quotas.reset();
    m_faults.reset();
    m_documents.reset();
    auto opened = Documents::open(folder() + "/gcp.sqlite");
    if (!opened)
        qFatal("%s", opened.error().message.c_str());
    m_documents = std::move(*opened);
    m_faults = std::make_unique<Faults>(*m_documents);
    m_quotas = std::make_unique<Quotas>(*m_documents, ComputeCatalog::builtIn(),
                                        [this](const std::string &, const QuotaKey &) { return usage; });
    m_context.reset(new GcpContext{*m_documents, *m_faults, *m_quotas, [this] { return m_now; }, 60,
                                   "my-project", "123456789012", folder() + "/buckets"});
    if (!Projects(*m_context).ensureFirst())
        qFatal("no first project");
}

Answer ServiceStand::call(GcpService &service, const std::string &line, const json &body,
                          HeaderFields headers) const
{
    ServerRequest request;
    const auto blank = line.find(' ');
    request.method = line.substr(0, blank);
    request.target = line.substr(blank + 1);
    if (!readTarget(request.target, request))
        qFatal("not a target: %s", request.target.c_str());
    request.headers = std::move(headers);
    request.headers.emplace_back("host", "127.0.0.1:1");
    if (body.is_string())
        request.body = body.get<std::string>();
    else if (!body.is_null())
        request.body = body.dump();
    Answer answer;
    answer.response = service.handle(request, request.segments);
    answer.status = answer.response.status;
    answer.body = json::parse(answer.response.body, nullptr, false);
    if (answer.body.is_discarded())
        answer.body = nullptr;
    return answer;
}

} // namespace tests
