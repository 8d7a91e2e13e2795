#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/gcp/blob_store.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace cluster::local {

/// Writes a body behind what its blob has already. Keeps the first error for the answer.
class UploadSink : public BodySink
{
public:
    UploadSink(BlobStore &blobs, std::string blob, std::uint64_t size, std::uint64_t skip)
        : m_blobs(blobs), m_blob(std::move(blob)), m_size(size), m_skip(skip)
    {
    }
    ~UploadSink() override;

    bool write(std::string_view piece) override;

    void setTemporary(bool temporary) { m_isTemporary = temporary; }
    void onGone(std::function<void()> fn) { m_onGone = std::move(fn); }
    [[nodiscard]] const Status &status() const { return m_status; }
    [[nodiscard]] const std::string &blob() const { return m_blob; }
    [[nodiscard]] std::uint64_t size() const { return m_size; }

private:
    BlobStore &m_blobs;
    std::string m_blob;
    std::uint64_t m_size;
    std::uint64_t m_skip;
    Status m_status;
    bool m_isTemporary = false;
    std::function<void()> m_onGone;
};

/// Takes nothing: the request's answer is known without its body.
class RefusingSink : public BodySink
{
public:
    bool write(std::string_view) override { return false; }
};

} // namespace cluster::local
