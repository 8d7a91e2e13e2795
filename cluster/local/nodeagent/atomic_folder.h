#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <map>
#include <string>

namespace cluster::local {

struct FolderFile
{
    std::string content;
    unsigned mode = 0644;

    friend bool operator==(const FolderFile &, const FolderFile &) = default;
};

/// Relative path -> file.
using FolderContent = std::map<std::string, FolderFile>;

/// Makes `folder` show exactly `content`, all files at once: they lie in a new hidden folder that the link
/// "..data" is turned to by one rename, as kubelet does it, so that a program never sees half of a change.
/// Does nothing where nothing changed. InvalidArgument for a path that would leave the folder.
Status writeFolder(const std::filesystem::path &folder, const FolderContent &content);

/// A relative path below something: not empty, without "..", "." and empty parts, and no hidden "..name".
bool isInnerPath(const std::string &path);

/// A single part of such a path.
bool isSafeName(const std::string &name);

} // namespace cluster::local
