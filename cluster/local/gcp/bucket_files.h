#pragma once

#include "cluster/local/gcp/storage_parts.h"
#include "cluster/local/storage/bucket_objects.h"

namespace cluster::local {

/// The storage service's objects for those who show them as files: the same as over HTTP, generations, faults
/// and hierarchical folders included.
class BucketFiles final : public BucketObjects
{
public:
    explicit BucketFiles(StorageParts &parts) : m_parts(parts) {}

    [[nodiscard]] std::uint64_t changes() const override;
    [[nodiscard]] Result<BucketContent> list(const std::string &bucket) const override;
    [[nodiscard]] Status copyTo(const std::string &bucket, const std::string &object, std::int64_t generation,
                                int file) const override;
    Result<std::int64_t> write(const std::string &bucket, const std::string &object, int file,
                               std::int64_t replaced) override;
    Status remove(const std::string &bucket, const std::string &object, std::int64_t generation) override;
    Status makeFolder(const std::string &bucket, const std::string &folder) override;
    Status removeFolder(const std::string &bucket, const std::string &folder) override;

private:
    StorageParts &m_parts;
};

} // namespace cluster::local
