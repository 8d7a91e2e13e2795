#include "cluster/local/metricsapi/metadata_client.h"

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds patience{10};
constexpr std::chrono::seconds margin{60}; ///< before a token's end

std::string trimmed(std::string text)
{
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.pop_back();
    return text;
}

} // namespace

Result<MetadataToken> parseMetadataToken(std::string_view body)
{
    const json answer = json::parse(body, nullptr, false);
    const json text = answer.is_object() ? answer.value("access_token", json()) : json();
    const json lifetime = answer.is_object() ? answer.value("expires_in", json()) : json();
    if (!text.is_string() || text.get<std::string>().empty() || !lifetime.is_number_integer())
        return fail(ErrorCode::DataLoss, "the metadata server's token is of another form than Google's");
    return MetadataToken{text.get<std::string>(), std::chrono::seconds(lifetime.get<std::int32_t>())};
}

Result<std::string> MetadataClient::read(const std::string &path) const
{
    HttpRequest request;
    request.url = "http://" + m_host + "/computeMetadata/v1/" + path;
    request.headers.push_back({"Metadata-Flavor", "Google"});
    HttpOptions options;
    options.deadline = Deadline::after(patience);
    auto answer = m_http.send(request, options);
    if (!answer)
        return tl::unexpected(answer.error());
    if (answer->status == 403)
        return fail(ErrorCode::PermissionDenied, trimmed(answer->body));
    if (answer->status != 200)
        return fail(answer->status == 404 ? ErrorCode::NotFound : ErrorCode::Unavailable,
                    "the metadata server answers " + std::to_string(answer->status) + " to " + path + ": "
                        + trimmed(answer->body.substr(0, 300)));
    return std::move(answer->body);
}

Result<MetricsCluster> MetadataClient::cluster() const
{
    const auto project = read("project/project-id");
    if (!project)
        return tl::unexpected(project.error());
    const auto location = read("instance/attributes/cluster-location");
    if (!location)
        return tl::unexpected(location.error());
    const auto name = read("instance/attributes/cluster-name");
    if (!name)
        return tl::unexpected(name.error());
    return MetricsCluster{trimmed(*project), trimmed(*location), trimmed(*name)};
}

Result<std::string> MetadataClient::token()
{
    const std::scoped_lock lock(m_mutex);
    const auto now = std::chrono::steady_clock::now();
    if (!m_token.empty() && now < m_renewAt)
        return m_token;
    const auto body = read("instance/service-accounts/default/token");
    if (!body)
        return tl::unexpected(body.error());
    const auto token = parseMetadataToken(*body);
    if (!token)
        return tl::unexpected(token.error());
    m_token = token->text;
    m_renewAt = now + token->lifetime - margin;
    return m_token;
}

} // namespace cluster::local
