#include "cluster/local/gcp/monitoring_service.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cluster::local {

namespace {

/// What Google has of Prometheus's API. The rest of it (rules, targets, status) is not found there.
bool isGooglesMethod(std::span<const std::string> path)
{
    constexpr std::array<const char *, 5> methods{"query", "query_range", "series", "labels", "metadata"};
    if (path.size() == 1)
        return std::find(methods.begin(), methods.end(), path[0]) != methods.end();
    return path.size() == 3 && path[0] == "label" && path[2] == "values";
}

std::string encoded(std::string_view text)
{
    std::string result;
    for (const char c : text) {
        const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || c == '-' || c == '.' || c == '_' || c == '~';
        char code[4];
        std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        result += isPlain ? std::string(1, c) : std::string(code);
    }
    return result;
}

MetricQuestion questionOf(const ServerRequest &request, std::span<const std::string> path)
{
    MetricQuestion question;
    question.method = request.method;
    for (const std::string &segment : path)
        question.path += (question.path.empty() ? "" : "/") + encoded(segment);
    if (const auto mark = request.target.find('?'); mark != std::string::npos)
        question.parameters = request.target.substr(mark + 1);
    question.contentType = std::string(request.header("content-type").value_or(""));
    question.body = request.body;
    return question;
}

} // namespace

ServerResponse MonitoringService::handle(const ServerRequest &request, Path path)
{
    const bool isOurs = path.size() >= 9 && path[0] == "v1" && path[1] == "projects" && path[3] == "location"
        && path[4] == "global" && path[5] == "prometheus" && path[6] == "api" && path[7] == "v1"
        && (request.method == "GET" || request.method == "POST") && isGooglesMethod(path.subspan(8));
    if (!isOurs)
        return unknownMethodResponse(request);
    const auto project = m_projects.require(path[2]);
    if (!project)
        return errorResponse(project.error());
    if (const auto enabled = m_apis.require(*project, "monitoring.googleapis.com"); !enabled)
        return errorResponse(enabled.error());
    if (!m_context.metrics)
        return errorResponse({ErrorCode::FailedPrecondition, "This local target collects no metrics.",
                              nlohmann::json::array(), 0});
    const auto answer = m_context.metrics->ask(project->id, questionOf(request, path.subspan(8)));
    if (!answer)
        return errorResponse(toGoogleError(answer.error()));
    return {answer->status, {{"content-type", answer->contentType}}, answer->body};
}

} // namespace cluster::local
