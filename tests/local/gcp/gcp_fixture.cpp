#include "tests/local/gcp/gcp_fixture.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/net/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <stdexcept>
#include <thread>

namespace tests {

using namespace cluster;
using nlohmann::json;

std::string Answer::message() const
{
    return body.contains("error") ? body["error"].value("message", std::string()) : std::string();
}

class GcpFixture::Running
{
public:
    Running(const std::string &database, double timeFactor, SimulatedHost &host)
    {
        local::GcpOptions options;
        options.database = database;
        options.token = "secret";
        options.projectId = "my-project";
        options.projectNumber = "123456789012";
        options.timeFactor = timeFactor;
        options.workers = 3;
        auto opened = local::GcpServer::open(std::move(options), host);
        if (!opened)
            throw std::runtime_error(opened.error().message);
        server = std::move(*opened);
        server->start();
        auto listening = HttpListener::open(io, {}, [this](std::shared_ptr<ServerExchange> exchange) {
            server->handle(std::move(exchange));
        });
        if (!listening)
            throw std::runtime_error(listening.error().message);
        listener = std::move(*listening);
        url = "http://127.0.0.1:" + std::to_string(listener->port());
        thread = std::thread([this] { io.run(); });
    }
    ~Running()
    {
        server->stop();
        boost::asio::post(io, [this] { listener.reset(); });
        thread.join();
    }

    boost::asio::io_context io;
    std::unique_ptr<local::GcpServer> server;
    std::unique_ptr<HttpListener> listener;
    std::thread thread;
    std::string url;
    HttpClient client;
};

GcpFixture::GcpFixture(std::string database, double timeFactor)
    : m_database(std::move(database)), m_timeFactor(timeFactor),
      m_running(std::make_unique<Running>(m_database, timeFactor, host))
{
}

GcpFixture::~GcpFixture() = default;

local::GcpServer &GcpFixture::server()
{
    return *m_running->server;
}

void GcpFixture::restart()
{
    m_running.reset();
    m_running = std::make_unique<Running>(m_database, m_timeFactor, host);
}

Answer GcpFixture::ask(const std::string &method, const std::string &path, const json &body,
                       const std::string &token)
{
    HttpRequest request;
    request.method = method;
    request.url = m_running->url + path;
    if (!token.empty())
        request.headers.push_back({"Authorization", "Bearer " + token});
    if (!body.is_null())
        request.body = body.is_string() ? body.get<std::string>() : body.dump();
    const auto response = m_running->client.send(request);
    if (!response)
        throw std::runtime_error(response.error().message);
    return {response->status, json::parse(response->body, nullptr, false)};
}

Answer GcpFixture::container(const std::string &method, const std::string &path, const json &body)
{
    return ask(method, "/container/v1/projects/my-project/locations/" + path, body);
}

json GcpFixture::finished(const Answer &answer)
{
    if (answer.status != 200)
        throw std::runtime_error("no operation: " + answer.body.dump());
    const std::string path = answer.body.at("location").get<std::string>() + "/operations/"
        + answer.body.at("name").get<std::string>();
    for (;;) {
        const Answer now = container("GET", path);
        if (now.body.at("status") == "DONE")
            return now.body;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

} // namespace tests
