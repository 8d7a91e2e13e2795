#include "tests/cluster/wheel_maker.h"

#include <stdexcept>
#include <zip.h>

namespace tests {

std::filesystem::path makeWheel(const std::filesystem::path &folder, const std::string &name,
                                const std::string &version, const std::map<std::string, std::string> &files)
{
    const std::string info = name + "-" + version + ".dist-info/";
    std::map<std::string, std::string> all = files;
    all[info + "METADATA"] = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n";
    all[info + "WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    all[info + "RECORD"] = "";
    const std::filesystem::path path = folder / (name + "-" + version + "-py3-none-any.whl");
    std::filesystem::create_directories(folder);
    zip_t *archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    if (!archive)
        throw std::runtime_error("can't make " + path.string());
    for (const auto &[file, text] : all)
        zip_file_add(archive, file.c_str(), zip_source_buffer(archive, text.data(), text.size(), 0), 0);
    if (zip_close(archive) != 0)
        throw std::runtime_error("can't write " + path.string());
    return path;
}

} // namespace tests
