#pragma once

#include "cluster/local/storage/guarded_folder.h"
#include "cluster/local/storage/object_paths.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cluster::local {

struct MirrorOptions
{
    std::string bucket;
    TreeOptions tree;
    bool isReadOnly = false; ///< what is changed in the folder is undone
};

/// A bucket as a folder, kept in step both ways: what is new on one side since the last time comes to the
/// other. Where both have changed the folder's file counts, as it was closed last. Files that are open to
/// write wait until they are closed. Survives its process: what was in step is written down beside the
/// folder.
///
/// Not a file system: objects are copied, and a change is seen after the next sync(), not at once. Threads:
/// one.
class BucketMirror
{
public:
    /// \param folder  Of this mirror alone: folder/data is what programs see.
    static Result<BucketMirror> open(BucketObjects &objects, MirrorOptions options,
                                     const std::filesystem::path &folder);

    /// Errors: of the bucket (NotFound) or the disk. What could be done has been done.
    Status sync();
    /// Everything that could be found is the same on both sides.
    [[nodiscard]] bool isInStep() const { return m_isInStep; }
    [[nodiscard]] std::filesystem::path data() const { return m_path / "data"; }
    [[nodiscard]] const MirrorOptions &options() const { return m_options; }

private:
    /// What both sides had the last time.
    struct Known
    {
        SeenFile file;
        std::string object;
        std::int64_t generation = 0;
    };
    using Tree = std::map<std::string, SeenFile>;

    BucketMirror(BucketObjects &objects, MirrorOptions options, std::filesystem::path path,
                 GuardedFolder folder);
    void load();
    void save();
    Status refreshRemote();
    void removeWhatIsGone(Tree &local);
    void addWhatIsNew(const Tree &local);
    void visit(const std::string &path, const SeenFile *local, const RemoteEntry *remote);
    bool isDropped(const std::string &path, const SeenFile &local) const;
    void forget(const std::string &path);
    void removeObject(const std::string &path, const Known &known);
    void download(const std::string &path, const SeenFile *local, const RemoteEntry &remote);
    void adoptOrUpload(const std::string &path, const SeenFile &local, const RemoteEntry &remote);
    void upload(const std::string &path, const SeenFile &local, const RemoteEntry *remote);
    void makeRemoteFolder(const std::string &path, const SeenFile &local);
    bool hasSameBytes(const std::string &path, const RemoteEntry &remote);
    void note(const Status &status);
    [[nodiscard]] std::string objectOf(const std::string &path) const { return m_options.tree.prefix + path; }

    BucketObjects &m_objects;
    MirrorOptions m_options;
    std::filesystem::path m_path;
    GuardedFolder m_folder;
    std::map<std::string, Known> m_known;
    RemoteTree m_remote;
    bool m_isHierarchical = false, m_hasListed = false;
    std::uint64_t m_seenChanges = 0;
    bool m_isChanged = false; ///< m_known, since it was written down
    bool m_isInStep = false;
    Status m_trouble; ///< first of a turn
    struct Refusal
    {
        SeenFile file;
        std::chrono::steady_clock::time_point until;
    };
    std::map<std::string, Refusal> m_refused; ///< files that could not become objects: not again at once
};

} // namespace cluster::local
