#pragma once

#include "cluster/local/gcp/storage_parts.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cluster::local {

/// The bytes that a download answers with.
struct Download
{
    ServerResponse head; ///< 200 or 206, with the object's headers, without a body
    std::string blob;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// Objects of Cloud Storage's JSON API, but for uploads.
class StorageObjects
{
public:
    explicit StorageObjects(StorageParts &parts) : m_parts(parts) {}

    GoogleResult<nlohmann::json> list(const ServerRequest &request, const std::string &bucket) const;
    GoogleResult<nlohmann::json> get(const ServerRequest &request, const std::string &bucket,
                                     const std::string &name) const;
    /// Errors: 416 for a Range behind the end, 304 as an error with that status.
    GoogleResult<Download> download(const ServerRequest &request, const std::string &bucket,
                                    const std::string &name) const;
    GoogleResult<nlohmann::json> patch(const ServerRequest &request, const std::string &bucket,
                                       const std::string &name);
    GoogleStatus remove(const ServerRequest &request, const std::string &bucket, const std::string &name);

    /// copyTo and rewriteTo; `isRewrite` decides the form of the answer.
    GoogleResult<nlohmann::json> copy(const ServerRequest &request, const std::string &bucket,
                                      const std::string &name, const std::string &toBucket,
                                      const std::string &toName, bool isRewrite);
    GoogleResult<nlohmann::json> compose(const ServerRequest &request, const std::string &bucket,
                                         const std::string &name);

private:
    GoogleResult<std::string> concatenated(const std::string &bucket, const nlohmann::json &sources,
                                           std::int64_t &components);

    StorageParts &m_parts;
};

} // namespace cluster::local
