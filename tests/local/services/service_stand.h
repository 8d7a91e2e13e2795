#pragma once

#include "cluster/local/gcp/gcp_service.h"
#include "cluster/local/gcp/quotas.h"

#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>
#include <string>

/// QCOMPARE of what becomes JSON, showing both.
#define SAME(actual, wanted)                                                                                 \
    QCOMPARE(tests::shown(nlohmann::json(actual)), tests::shown(nlohmann::json(wanted)))

namespace tests {

inline QString shown(const nlohmann::json &value)
{
    return QString::fromStdString(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

struct Answer
{
    int status = 0;
    nlohmann::json body; ///< null where it is no JSON
    cluster::ServerResponse response;

    [[nodiscard]] std::string message() const; ///< of an error
    [[nodiscard]] std::string header(const std::string &name) const;
};

/// What Google's services need to run in a test: documents in a temporary folder, and a clock that stands
/// still until it is told.
class ServiceStand
{
public:
    ServiceStand();

    /// One request: "GET /v1/projects/p?filter=x". A body that is a JSON string is sent as its bytes.
    Answer call(cluster::local::GcpService &service, const std::string &line, const nlohmann::json &body = {},
                cluster::HeaderFields headers = {}) const;
    void pass(std::chrono::milliseconds time) { m_now += time; }
    /// The folder as a killed process left it, opened anew.
    void restart();
    [[nodiscard]] std::string folder() const { return m_folder.path().toStdString(); }
    [[nodiscard]] cluster::local::GcpContext &context() { return *m_context; }
    cluster::local::Quotas &quotas() { return *m_quotas; }
    double usage = 0; ///< of every quota

private:
    QTemporaryDir m_folder;
    std::chrono::system_clock::time_point m_now{std::chrono::hours(24 * 365 * 50)};
    std::unique_ptr<cluster::local::Documents> m_documents;
    std::unique_ptr<cluster::local::Faults> m_faults;
    std::unique_ptr<cluster::local::Quotas> m_quotas;
    std::unique_ptr<cluster::local::GcpContext> m_context;
};

} // namespace tests
