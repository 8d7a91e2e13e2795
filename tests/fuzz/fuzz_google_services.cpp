// Requests to Google's small services, one a line: "METHOD /service/path?query BODY". Whatever is asked, an
// answer comes, and everything stays in the folder of the buckets.

#include "cluster/httpd/request_target.h"
#include "cluster/local/gcp/google_services.h"
#include "cluster/local/gcp/partial_response.h"
#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/quotas.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace cluster;
using namespace cluster::local;

namespace {

std::filesystem::path makeFolder()
{
    std::string name = (std::filesystem::temp_directory_path() / "fuzz-google-XXXXXX").string();
    if (!::mkdtemp(name.data()))
        std::abort();
    return name;
}

class Google
{
public:
    Google() : m_documents(*Documents::open(":memory:")), m_faults(*m_documents), m_quotas(makeQuotas())
    {
        if (!Projects(m_context).ensureFirst())
            std::abort();
        m_services = makeGoogleServices(m_context);
        const auto documents = m_documents->list("");
        for (const Document &document : *documents)
            m_initial[document.key] = document.value;
    }

    /// As it was in the beginning: making all of it anew would take most of the time.
    void reset()
    {
        std::vector<DocumentChange> changes;
        const auto documents = m_documents->list("");
        for (const Document &document : *documents) {
            const auto first = m_initial.find(document.key);
            if (first == m_initial.end())
                changes.push_back({document.key, std::nullopt});
            else if (first->second != document.value)
                changes.push_back({document.key, first->second});
        }
        if (!changes.empty() && !m_documents->apply(changes))
            std::abort();
        std::error_code ignored;
        std::filesystem::remove_all(m_folder / "buckets", ignored);
    }
    ~Google()
    {
        for (const MountedService &mounted : m_services)
            mounted.service->stop();
        m_services.clear();
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }

    void ask(std::string_view line)
    {
        ServerRequest request;
        const auto method = std::min(line.find(' '), line.size());
        request.method = line.substr(0, method);
        line.remove_prefix(std::min(method + 1, line.size()));
        const auto target = std::min(line.find(' '), line.size());
        request.target = line.substr(0, target);
        request.body = line.substr(std::min(target + 1, line.size()));
        request.headers = {{"Host", "127.0.0.1:1"}};
        if (!readTarget(request.target, request) || request.segments.empty())
            return;
        for (const MountedService &mounted : m_services) {
            if (mounted.prefix == request.segments.front())
                answer(*mounted.service, request);
        }
    }

private:
    Quotas makeQuotas()
    {
        return {*m_documents, ComputeCatalog::builtIn(),
                [](const std::string &, const QuotaKey &) { return 0.0; }};
    }
    static void answer(GcpService &service, const ServerRequest &request)
    {
        try {
            const auto response = service.handle(request, std::span(request.segments).subspan(1));
            (void)partialResponse(request, response);
        } catch (const nlohmann::json::exception &) { // answered 400
        }
    }

    std::filesystem::path m_folder = makeFolder();
    std::unique_ptr<Documents> m_documents;
    Faults m_faults;
    Quotas m_quotas;
    GcpContext m_context{*m_documents,
                         m_faults,
                         m_quotas,
                         [] { return std::chrono::system_clock::time_point(std::chrono::hours(500000)); },
                         60,
                         "my-project",
                         "123456789012",
                         m_folder / "buckets"};
    std::vector<MountedService> m_services;
    std::map<std::string, nlohmann::json> m_initial;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static Google google;
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        google.ask(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    google.reset();
    return 0;
}
