// Names that others chose: of objects, which become paths, and of images. Lines of the input are names.

#include "cluster/local/nodeagent/image_name.h"
#include "cluster/local/storage/object_paths.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

using namespace cluster::local;

namespace {

/// Stays below the folder it is put in, whatever is there.
bool isInside(const std::string &path)
{
    const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    return !path.empty() && !normal.is_absolute() && normal.begin()->string() != ".."
        && normal.string() == path;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    BucketContent content;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        content.objects.push_back({text.substr(begin, end - begin), 1, 0});
        (void)imageNameError(content.objects.back().name);
        begin = end + 1;
    }
    for (const bool implies : {false, true}) {
        for (const auto &[path, entry] : treeOf(content, {size % 2 == 0 ? "" : "a/", implies})) {
            if (!isInside(path))
                std::abort();
        }
    }
    return 0;
}
