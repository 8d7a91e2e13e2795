#pragma once

#include "cluster/local/gcp/storage_service.h"
#include "tests/local/services/service_stand.h"

#include <QDir>
#include <memory>

namespace tests {

using cluster::HeaderFields;
using cluster::urlEncoded;
using nlohmann::json;

/// A storage service with a bucket bkt1.
class Buckets
{
public:
    explicit Buckets(const json &bucket = {{"name", "bkt1"}, {"location", "us-central1"}})
    {
        restart();
        const Answer made = call("POST /storage/v1/b?project=my-project", bucket);
        if (made.status != 200)
            qFatal("%s", made.response.body.c_str());
    }
    Answer call(const std::string &line, const json &body = {}, HeaderFields headers = {})
    {
        return stand.call(*m_service, line, body, std::move(headers));
    }
    Answer put(const std::string &name, const std::string &bytes, const std::string &more = {})
    {
        return call("POST /upload/storage/v1/b/bkt1/o?uploadType=media&name=" + urlEncoded(name) + more,
                    json(bytes), {{"content-type", "text/plain"}});
    }
    std::string bytesOf(const std::string &name)
    {
        return call("GET /download/storage/v1/b/bkt1/o/" + urlEncoded(name) + "?alt=media").response.body;
    }
    /// The session's id.
    std::string begin(const std::string &name, const std::string &more = {}, const json &body = {})
    {
        const Answer answer = call(
            "POST /resumable/upload/storage/v1/b/bkt1/o?uploadType=resumable&name=" + name + more, body);
        const std::string location = answer.header("location");
        return location.substr(location.rfind('=') + 1);
    }
    Answer send(const std::string &id, const std::string &range, const std::string &bytes = {})
    {
        HeaderFields headers;
        if (!range.empty())
            headers.emplace_back("content-range", range);
        return call("PUT /upload/storage/v1/b/bkt1/o?uploadType=resumable&upload_id=" + id, json(bytes),
                    headers);
    }
    void restart()
    {
        m_service.reset();
        stand.restart();
        m_service = std::make_unique<cluster::local::StorageService>(stand.context());
        m_service->start();
    }
    [[nodiscard]] int files() const
    {
        return static_cast<int>(
            QDir(QString::fromStdString(stand.folder() + "/buckets/objects")).entryList(QDir::Files).size());
    }
    cluster::local::StorageService &service() { return *m_service; }

    ServiceStand stand;

private:
    std::unique_ptr<cluster::local::StorageService> m_service;
};

inline json namesOf(const Answer &list)
{
    json names = json::array();
    for (const json &item : list.body.value("items", json::array()))
        names.push_back(item["name"]);
    return names;
}

} // namespace tests
