#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cluster::local {

struct BucketEntry
{
    std::string name; ///< as users chose it: never a path of this machine by itself
    std::int64_t generation = 0;
    std::uint64_t size = 0;
};

struct BucketContent
{
    std::vector<BucketEntry> objects;
    std::vector<std::string> folders; ///< of a hierarchical bucket, with the slash at the end
    bool isHierarchical = false;
};

/// The objects of Cloud Storage for those who show them as files. Calls block; any thread. Errors: NotFound
/// (no such bucket, or the object is gone), FailedPrecondition (another generation is there by now),
/// ResourceExhausted (the disk is full), InvalidArgument (no name for an object).
class BucketObjects
{
public:
    virtual ~BucketObjects() = default;

    /// Another number as soon as anything may have changed in any bucket.
    [[nodiscard]] virtual std::uint64_t changes() const = 0;
    [[nodiscard]] virtual Result<BucketContent> list(const std::string &bucket) const = 0;

    /// The object's bytes into an open file, from where that stands.
    [[nodiscard]] virtual Status copyTo(const std::string &bucket, const std::string &object,
                                        std::int64_t generation, int file) const = 0;
    /// All bytes of an open file as an object; its new generation. \param replaced  The generation that is
    /// there now; 0: none.
    virtual Result<std::int64_t> write(const std::string &bucket, const std::string &object, int file,
                                       std::int64_t replaced)
        = 0;
    virtual Status remove(const std::string &bucket, const std::string &object, std::int64_t generation) = 0;

    /// Of a hierarchical bucket; names end with a slash.
    virtual Status makeFolder(const std::string &bucket, const std::string &folder) = 0;
    virtual Status removeFolder(const std::string &bucket, const std::string &folder) = 0;
};

} // namespace cluster::local
