#pragma once

#include "cluster/local/storage/bucket_objects.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cluster::local {

/// What a bucket has at a path.
struct RemoteEntry
{
    std::string object; ///< empty: a folder that is only implied by what lies below it
    std::int64_t generation = 0; ///< 0: a folder without an object
    std::uint64_t size = 0;
    bool isFolder = false;
};

/// By relative path, without a slash at either end. Parents come before what is in them.
using RemoteTree = std::map<std::string, RemoteEntry>;

/// A relative path that stays below the folder it is put in and that file systems take: no empty part, no
/// "." or "..", no NUL, parts of at most 255 and a whole of at most 2,048 bytes.
bool isTreePath(std::string_view path);

struct TreeOptions
{
    std::string
        prefix; ///< only objects below it, and without it; empty, or with a slash at the end (only-dir)
    bool impliesFolders = false; ///< a folder is where something is below it (implicit-dirs); else it needs
                                 ///< an object of its own, as GCS FUSE has it
};

/// Objects as files and folders, by GCS FUSE's rules: an object whose name ends with a slash is a folder; of
/// a file and a folder of the same name the file gets a newline at its end; names that are no paths are not
/// shown.
RemoteTree treeOf(const BucketContent &content, const TreeOptions &options);

} // namespace cluster::local
