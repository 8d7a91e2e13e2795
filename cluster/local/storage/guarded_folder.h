#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace cluster::local {

/// A file or folder as it was seen. Two of a file that nobody changed are equal.
struct SeenFile
{
    bool isFolder = false;
    std::uint64_t size = 0;
    std::int64_t changed = 0; ///< modification time, nanoseconds
    std::uint64_t inode = 0;

    /// The same file with the same content; folders are always alike.
    [[nodiscard]] bool isSame(const SeenFile &other) const
    {
        return isFolder == other.isFolder
            && (isFolder || (size == other.size && changed == other.changed && inode == other.inode));
    }
};

/// A folder that programs we don't trust write in. No call of it ever leaves the folder or follows a link
/// below it, whatever they put there meanwhile. Paths are relative, as isTreePath() has them. Threads: one.
class GuardedFolder
{
public:
    /// \param staging  On the same file system, out of those programs' sight. Both are made.
    static Result<GuardedFolder> open(const std::filesystem::path &folder,
                                      const std::filesystem::path &staging);
    GuardedFolder(GuardedFolder &&other) noexcept;
    GuardedFolder &operator=(GuardedFolder &&) = delete;
    ~GuardedFolder();

    /// Of the folder itself: another one by the same name has another.
    [[nodiscard]] std::string identity() const;

    /// All files and folders below; links, devices and sockets are left out. ResourceExhausted: more than
    /// 500,000 of them, or too deep.
    [[nodiscard]] Result<std::map<std::string, SeenFile>> scan() const;
    /// As it is now; NotFound, also for what is neither file nor folder.
    [[nodiscard]] Result<SeenFile> look(const std::string &path) const;

    Status makeFolder(const std::string &path);
    /// Nothing happens to a folder that is not empty.
    Status remove(const std::string &path, const SeenFile &asSeen);

    /// An open file to read. Unavailable: somebody has it open to write. The caller closes it.
    [[nodiscard]] Result<int> openToRead(const std::string &path, SeenFile &seen) const;

    /// An empty file outside; the caller writes it, and hands it to place() or drop().
    Result<int> stage();
    /// Puts the staged file at a path. \param replaced  The file that is there; null: none may be. Aborted:
    /// it is another one by now.
    Result<SeenFile> place(int file, const std::string &path, const SeenFile *replaced, unsigned mode);
    void drop(int file);

private:
    GuardedFolder(int folder, int staging) : m_folder(folder), m_staging(staging) {}
    /// The folder that holds a path's last part, opened; -1 with errno.
    int openParent(const std::string &path, std::string &last) const;

    int m_folder, m_staging;
    unsigned m_staged = 0;
    std::map<int, std::string> m_names; ///< of staged files
};

} // namespace cluster::local
