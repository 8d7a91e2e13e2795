#include "cluster/local/metrics/prometheus_process.h"

#include "cluster/local/controlplane/certificate_folder.h"
#include "cluster/local/controlplane/process_supervisor.h"
#include "cluster/local/files/whole_files.h"
#include "cluster/net/free_port.h"

#include <thread>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr const char *kName = "prometheus";
constexpr milliseconds kPause{50};
constexpr seconds kReadyPatience{90}; // a busy machine, and a write-ahead log to be read
constexpr seconds kRestartPatience{15};
constexpr seconds kAnswerPatience{130}; // its own limit is 120 s
constexpr int kPortTries = 3;

CertificateSubject subjectOf(bool isServer)
{
    CertificateSubject subject;
    subject.commonName = isServer ? "prometheus" : "slipwayd";
    subject.server = isServer;
    if (isServer)
        subject.addresses = {"127.0.0.1"};
    return subject;
}

bool isGone(const Error &error)
{
    return error.code == ErrorCode::Unavailable || error.code == ErrorCode::DataLoss
        || error.code == ErrorCode::FailedPrecondition;
}

} // namespace

PrometheusProcess::PrometheusProcess(PrometheusSetup setup) : m_setup(std::move(setup)) {}

PrometheusProcess::~PrometheusProcess()
{
    if (m_supervisor)
        m_supervisor->stopAll();
}

/// Folders, keys, and who may ask it.
Status PrometheusProcess::prepare()
{
    if (Status made = makePrivateFolder(m_setup.folder / "data"); !made)
        return made;
    const auto now = std::chrono::system_clock::now();
    const auto authority = CertificateFolder::open(m_setup.folder / "pki", "slipway metrics", now);
    if (!authority)
        return tl::unexpected(authority.error());
    const auto server = authority->identity("prometheus", subjectOf(true), now);
    const auto client = authority->identity("client", subjectOf(false), now);
    if (!server || !client)
        return tl::unexpected(server ? client.error() : server.error());
    m_access.caFile = authority->authorityFile().string();
    m_access.clientCertFile = client->certificateFile.string();
    m_access.clientKeyFile = client->keyFile.string();
    const json web{{"tls_server_config",
                    {{"cert_file", server->certificateFile.string()},
                     {"key_file", server->keyFile.string()},
                     {"client_auth_type", "RequireAndVerifyClientCert"},
                     {"client_ca_file", m_access.caFile}}}};
    return writeWholeFile(m_setup.folder / "web.yml", web.dump(1) + "\n");
}

Status PrometheusProcess::writeConfig(const json &scrapes) const
{
    const json config{{"global", {{"scrape_interval", "1m"}}}, {"scrape_configs", scrapes}};
    return writeWholeFile(m_setup.folder / "prometheus.yml", config.dump(1) + "\n"); // JSON is YAML
}

std::vector<std::string> PrometheusProcess::arguments() const
{
    const std::string folder = m_setup.folder.string();
    return {m_setup.program.string(),
            "--config.file=" + folder + "/prometheus.yml",
            "--web.config.file=" + folder + "/web.yml",
            "--web.listen-address=127.0.0.1:" + std::to_string(m_port),
            "--web.enable-lifecycle", // reloading; only we can ask for it
            "--web.max-connections=64",
            "--storage.tsdb.path=" + folder + "/data",
            "--storage.tsdb.retention.time=24h",
            "--storage.tsdb.retention.size=512MB",
            "--query.max-concurrency=8",
            "--query.max-samples=5000000",
            "--query.timeout=2m",
            "--log.level=warn"};
}

Status PrometheusProcess::launch(const CancelToken &cancel)
{
    Status ready;
    for (int attempt = 0; attempt < kPortTries; ++attempt) {
        m_port = freeLoopbackPort();
        if (m_port == 0)
            return fail(ErrorCode::ResourceExhausted, "no free port on 127.0.0.1 for Prometheus");
        m_supervisor = std::make_unique<ProcessSupervisor>(m_setup.onEvent);
        SupervisedProgram program;
        program.program.name = kName;
        program.program.arguments = arguments();
        program.program.environment = {"GOMEMLIMIT=160MiB", "GOGC=50", "GOMAXPROCS=2", "HOME=/"};
        program.program.workingFolder = m_setup.folder;
        program.logFile = m_setup.folder / "prometheus.log";
        program.maxLogBytes = std::uint64_t{1} << 20;
        if (Status started = m_supervisor->add(std::move(program)); !started)
            return started;
        ready = awaitReady(cancel);
        if (ready || ready.error().code != ErrorCode::Unavailable)
            return ready;
        m_supervisor->stopAll(); // most likely somebody took the port meanwhile
    }
    return ready;
}

Status PrometheusProcess::awaitReady(const CancelToken &cancel)
{
    const Deadline deadline = Deadline::after(kReadyPatience);
    while (true) {
        const auto answer = send({}, "/-/ready", Deadline::after(seconds(5)), cancel);
        if (answer && answer->status == 200)
            return {};
        if (cancel.stop_requested())
            return fail(ErrorCode::Cancelled, "starting Prometheus was given up");
        if (state().restarts > 1 || deadline.hasPassed()) {
            const std::string words = m_supervisor->lastWordsOf(kName);
            return fail(state().restarts > 1 ? ErrorCode::Unavailable : ErrorCode::DeadlineExceeded,
                        "Prometheus (" + m_setup.program.string()
                            + ") did not start: " + (words.empty() ? "it printed nothing" : words)
                            + "; its log is " + (m_setup.folder / "prometheus.log").string());
        }
        std::this_thread::sleep_for(kPause);
    }
}

Result<std::unique_ptr<PrometheusProcess>>
PrometheusProcess::start(PrometheusSetup setup, const json &scrapes, const CancelToken &cancel)
{
    std::unique_ptr<PrometheusProcess> process(new PrometheusProcess(std::move(setup)));
    Status done = process->prepare();
    if (done)
        done = process->writeConfig(scrapes);
    if (done)
        done = process->launch(cancel);
    if (!done)
        return tl::unexpected(done.error());
    return process;
}

Status PrometheusProcess::reload(const json &scrapes, const CancelToken &cancel)
{
    if (Status written = writeConfig(scrapes); !written)
        return written;
    HttpRequest request;
    request.method = "POST";
    const auto answer = ask(std::move(request), "/-/reload", cancel);
    if (!answer)
        return tl::unexpected(answer.error());
    if (answer->status >= 300)
        return fail(ErrorCode::InvalidArgument, answer->body.substr(0, 2000));
    return {};
}

Result<HttpResponse> PrometheusProcess::send(HttpRequest request, const std::string &target,
                                             Deadline deadline, const CancelToken &cancel)
{
    request.url = "https://127.0.0.1:" + std::to_string(m_port) + target;
    HttpOptions options = m_access;
    options.deadline = deadline;
    options.cancel = cancel;
    return m_http.send(request, options);
}

Result<HttpResponse> PrometheusProcess::ask(HttpRequest request, const std::string &target,
                                            const CancelToken &cancel)
{
    const Deadline restarted = Deadline::after(kRestartPatience);
    while (true) {
        auto answer = send(request, target, Deadline::after(kAnswerPatience), cancel);
        if (answer ? answer->status != 503 : !isGone(answer.error()) || cancel.stop_requested())
            return answer;
        if (restarted.hasPassed())
            return answer;
        std::this_thread::sleep_for(kPause);
    }
}

ProcessState PrometheusProcess::state() const
{
    const auto states = m_supervisor ? m_supervisor->states() : std::vector<ProcessState>();
    return states.empty() ? ProcessState{} : states.front();
}

} // namespace cluster::local
