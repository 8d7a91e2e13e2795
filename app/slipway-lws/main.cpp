// The LeaderWorkerSet manager of the local target: what runs in the pods of the Deployment
// lws-controller-manager, in place of the real one. See cluster/local/lws.

#include "app/slipway-lws/settings.h"
#include "cluster/kube/pause.h"
#include "cluster/local/lws/leader_lease.h"
#include "cluster/local/lws/lws_controller.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

namespace {

namespace local = cluster::local;
using cluster::Status;
using slipway_lws::Settings;

constexpr std::chrono::seconds betweenTries{2};
constexpr std::chrono::seconds betweenChecks{30};

void log(const std::string &text)
{
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::fprintf(stderr, "%s\n", text.c_str());
}

std::string uniqueText()
{
    std::random_device random;
    return std::to_string(random()) + std::to_string(random());
}

/// One after the other as they are needed: certificate, webhooks, lease, controller.
class Program
{
public:
    explicit Program(Settings settings)
        : m_settings(std::move(settings)), m_client(m_http, m_settings.endpoint),
          m_events(m_client, "leaderworkerset-" + m_settings.podName),
          m_endpoints(m_io, endpointOptions(m_settings), m_counters, m_client)
    {
    }

    int run();

private:
    static local::LwsEndpointOptions endpointOptions(const Settings &settings)
    {
        local::LwsEndpointOptions options = settings.endpoints;
        options.log = log;
        return options;
    }
    void keepCertificate(const cluster::CancelToken &cancel);
    [[nodiscard]] bool checkCertificate(const cluster::CancelToken &cancel);
    void openSecured(const local::PemPair &certificate);
    void contend();
    void lead();
    void end(int status);

    const Settings m_settings;
    boost::asio::io_context m_io{1};
    cluster::HttpClient m_http;
    cluster::KubeClient m_client;
    local::LwsCounters m_counters;
    local::LwsEvents m_events;
    local::LwsEndpoints m_endpoints;
    std::string m_certificate; ///< that the endpoints have; the keeper's thread's own
    std::unique_ptr<local::LwsController> m_controller;
    std::unique_ptr<local::LeaderLease> m_lease;
    int m_status = 0;
};

int Program::run()
{
    if (const Status opened = m_endpoints.openProbes(); !opened) {
        log("probes: " + opened.error().message);
        return 1;
    }
    boost::asio::signal_set signals(m_io, SIGTERM, SIGINT);
    signals.async_wait([this](const boost::system::error_code &error, int) {
        if (!error)
            end(0);
    });
    std::jthread keeper([this](const std::stop_token &cancel) { keepCertificate(cancel); });
    m_io.run();
    keeper.request_stop();
    keeper.join();
    m_controller.reset();
    m_lease.reset(); // after the controller: only then may another lead
    return m_status;
}

/// Makes it, has it trusted, and looks from time to time whether both are still so.
void Program::keepCertificate(const cluster::CancelToken &cancel)
{
    while (!cancel.stop_requested()) {
        const bool isDone = checkCertificate(cancel);
        if (!cluster::pauseFor(isDone ? betweenChecks : betweenTries, cancel))
            return;
    }
}

bool Program::checkCertificate(const cluster::CancelToken &cancel)
{
    cluster::KubeCallOptions call;
    call.cancel = cancel;
    const auto certificate = local::ensureWebhookCertificate(m_client, m_settings.certificate, call);
    if (!certificate) {
        log("certificate of the webhooks: " + certificate.error().message);
        return false;
    }
    if (m_certificate != certificate->pem.certificate) {
        m_certificate = certificate->pem.certificate;
        boost::asio::post(m_io, [this, pem = certificate->pem] { openSecured(pem); });
    }
    if (!m_settings.makesCertificate)
        return true;
    const Status injected
        = local::injectCertificate(m_client, m_settings.certificate, certificate->caPem, call);
    if (!injected)
        log("configurations of the webhooks: " + injected.error().message);
    return injected.has_value();
}

void Program::openSecured(const local::PemPair &certificate)
{
    if (const Status opened = m_endpoints.openSecured(certificate); !opened) {
        log("webhooks: " + opened.error().message);
        end(1);
        return;
    }
    log("webhooks are ready");
    contend();
}

void Program::contend()
{
    if (m_lease || m_controller)
        return;
    if (!m_settings.elects) {
        lead();
        return;
    }
    local::LeaderLeaseOptions options;
    options.nameSpace = m_settings.nameSpace;
    options.holder = m_settings.podName + "_" + uniqueText();
    local::LeaderLease::Handlers handlers;
    handlers.onLeading = [this] { boost::asio::post(m_io, [this] { lead(); }); };
    handlers.onLost = [this] {
        log("another replica may lead now");
        boost::asio::post(m_io, [this] { end(1); });
    };
    m_lease = std::make_unique<local::LeaderLease>(m_client, std::move(options), std::move(handlers));
}

void Program::lead()
{
    log("leads");
    m_counters.isLeading = true;
    m_controller = std::make_unique<local::LwsController>(m_client, m_events, m_counters, log);
}

void Program::end(int status)
{
    m_status = status;
    m_io.stop();
}

} // namespace

int main(int argc, char **argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{"--version"}) {
        std::printf("slipway-lws %s, for LeaderWorkerSet v0.10\n", SLIPWAY_VERSION);
        return 0;
    }
    try {
        const auto settings = slipway_lws::settingsOf(arguments);
        if (!settings) {
            log("slipway-lws: " + settings.error().message);
            return 1;
        }
        return Program(*settings).run();
    } catch (const std::exception &error) {
        log(std::string("slipway-lws: ") + error.what());
        return 1;
    }
}
