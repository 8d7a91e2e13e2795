#include "cluster/local/storage/object_paths.h"

#include <algorithm>
#include <set>

namespace cluster::local {

namespace {

constexpr std::size_t longestPart = 255;
constexpr std::size_t longestPath = 2048;

std::string_view parentOf(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// All folders above a path are there.
bool isReachable(const std::set<std::string, std::less<>> &folders, std::string_view path)
{
    for (path = parentOf(path); !path.empty(); path = parentOf(path)) {
        if (!folders.contains(path))
            return false;
    }
    return true;
}

class TreeBuilder
{
public:
    explicit TreeBuilder(const TreeOptions &options) : m_options(options) {}

    void add(const BucketEntry &object)
    {
        std::string path = relative(object.name);
        const bool isFolder = path.ends_with('/');
        if (isFolder)
            path.pop_back();
        if (isTreePath(path))
            (isFolder ? m_folders : m_files).push_back({path, object});
    }

    void addFolder(const std::string &name)
    {
        std::string path = relative(name);
        if (path.ends_with('/'))
            path.pop_back();
        if (isTreePath(path))
            m_folders.push_back({path, {}});
    }

    RemoteTree build(bool impliesFolders)
    {
        std::set<std::string, std::less<>> known;
        for (const Item &folder : m_folders)
            known.insert(folder.path);
        for (const auto *items : {&m_folders, &m_files}) {
            for (const Item &item : *items) {
                for (auto path = parentOf(item.path); impliesFolders && !path.empty(); path = parentOf(path))
                    known.insert(std::string(path));
            }
        }
        RemoteTree tree;
        for (const std::string &path : known) {
            if (isReachable(known, path))
                tree[path] = {{}, 0, 0, true};
        }
        for (const Item &folder : m_folders) {
            const auto found = tree.find(folder.path);
            if (found != tree.end() && !folder.object.name.empty())
                found->second = {folder.object.name, folder.object.generation, 0, true};
        }
        for (Item &file : m_files) {
            if (!isReachable(known, file.path))
                continue;
            if (known.contains(file.path))
                file.path += '\n';
            if (isTreePath(file.path))
                tree[file.path] = {file.object.name, file.object.generation, file.object.size, false};
        }
        return tree;
    }

private:
    struct Item
    {
        std::string path;
        BucketEntry object;
    };

    /// Empty: not below the prefix.
    [[nodiscard]] std::string relative(const std::string &name) const
    {
        return name.starts_with(m_options.prefix) ? name.substr(m_options.prefix.size()) : std::string();
    }

    const TreeOptions &m_options;
    std::vector<Item> m_folders, m_files;
};

} // namespace

bool isTreePath(std::string_view path)
{
    if (path.empty() || path.size() > longestPath || path.find('\0') != std::string_view::npos)
        return false;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view part = path.substr(begin, end - begin);
        if (part.empty() || part == "." || part == ".." || part.size() > longestPart)
            return false;
        begin = end + 1;
    }
    return true;
}

RemoteTree treeOf(const BucketContent &content, const TreeOptions &options)
{
    TreeBuilder builder(options);
    for (const BucketEntry &object : content.objects)
        builder.add(object);
    for (const std::string &folder : content.folders)
        builder.addFolder(folder);
    return builder.build(options.impliesFolders || content.isHierarchical);
}

} // namespace cluster::local
