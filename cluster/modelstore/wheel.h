#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

/// The files inside a Python wheel, which is a zip archive. Nothing in it is ever run.
class Wheel
{
public:
    /// Errors: DataLoss where the file is no zip archive.
    static Result<Wheel> open(const std::filesystem::path &path);
    Wheel(Wheel &&other) noexcept;
    Wheel &operator=(Wheel &&other) = delete;
    ~Wheel();

    [[nodiscard]] std::vector<std::string> names() const;

    /// Hands a member on piece by piece; its CRC is checked at the end.
    /// Errors: NotFound, DataLoss, and those of `sink`.
    Status read(const std::string &name, const std::function<Status(std::string_view)> &sink) const;
    Result<std::string> readWhole(const std::string &name, std::size_t maxBytes) const;

private:
    Wheel(std::filesystem::path path, void *archive);
    std::filesystem::path m_path;
    void *m_archive; ///< zip_t
};

} // namespace cluster
