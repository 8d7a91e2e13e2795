#pragma once

#include "cluster/local/storage/bucket_objects.h"

#include <map>
#include <mutex>
#include <string>

namespace tests {

/// A bucket without a disk, with Cloud Storage's rules for generations.
class MemoryBucket final : public cluster::local::BucketObjects
{
public:
    explicit MemoryBucket(bool isHierarchical = false) : m_isHierarchical(isHierarchical) {}

    void put(const std::string &name, const std::string &bytes);
    void erase(const std::string &name);
    /// Its bytes; "(none)" where there is no such object.
    [[nodiscard]] std::string get(const std::string &name) const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool hasFolder(const std::string &name) const;
    void setFull(bool isFull) { m_isFull = isFull; }

    [[nodiscard]] std::uint64_t changes() const override;
    [[nodiscard]] cluster::Result<cluster::local::BucketContent>
    list(const std::string &bucket) const override;
    [[nodiscard]] cluster::Status copyTo(const std::string &bucket, const std::string &object,
                                         std::int64_t generation, int file) const override;
    cluster::Result<std::int64_t> write(const std::string &bucket, const std::string &object, int file,
                                        std::int64_t replaced) override;
    cluster::Status remove(const std::string &bucket, const std::string &object,
                           std::int64_t generation) override;
    cluster::Status makeFolder(const std::string &bucket, const std::string &folder) override;
    cluster::Status removeFolder(const std::string &bucket, const std::string &folder) override;

private:
    struct Object
    {
        std::int64_t generation = 0;
        std::string bytes;
    };
    mutable std::mutex m_mutex;
    bool m_isHierarchical, m_isFull = false;
    std::map<std::string, Object> m_objects;
    std::map<std::string, bool> m_folders;
    std::int64_t m_last = 0;
};

} // namespace tests
