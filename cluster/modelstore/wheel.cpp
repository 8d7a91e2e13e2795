#include "cluster/modelstore/wheel.h"

#include <utility>
#include <zip.h>

namespace cluster {

namespace {

zip_t *zipOf(void *archive)
{
    return static_cast<zip_t *>(archive);
}

} // namespace

Wheel::Wheel(std::filesystem::path path, void *archive) : m_path(std::move(path)), m_archive(archive) {}

Wheel::Wheel(Wheel &&other) noexcept
    : m_path(std::move(other.m_path)), m_archive(std::exchange(other.m_archive, nullptr))
{
}

Wheel::~Wheel()
{
    if (m_archive)
        zip_discard(zipOf(m_archive));
}

Result<Wheel> Wheel::open(const std::filesystem::path &path)
{
    int number = 0;
    zip_t *archive = zip_open(path.c_str(), ZIP_RDONLY, &number);
    if (!archive) {
        zip_error_t error;
        zip_error_init_with_code(&error, number);
        const std::string why = zip_error_strerror(&error);
        zip_error_fini(&error);
        return fail(ErrorCode::DataLoss,
                    "can't open the package " + path.string() + " (" + why + "): fetch it again");
    }
    return Wheel(path, archive);
}

std::vector<std::string> Wheel::names() const
{
    std::vector<std::string> names;
    const zip_int64_t count = zip_get_num_entries(zipOf(m_archive), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        if (const char *name = zip_get_name(zipOf(m_archive), static_cast<zip_uint64_t>(i), 0))
            names.emplace_back(name);
    }
    return names;
}

Status Wheel::read(const std::string &name, const std::function<Status(std::string_view)> &sink) const
{
    zip_file_t *file = zip_fopen(zipOf(m_archive), name.c_str(), 0);
    if (!file)
        return fail(ErrorCode::NotFound,
                    "the package " + m_path.filename().string() + " has no file " + name
                        + ": it is not the one this version knows");
    std::vector<char> buffer(std::size_t{1} << 20);
    Status status;
    while (status) {
        const zip_int64_t count = zip_fread(file, buffer.data(), buffer.size());
        if (count < 0)
            status = fail(ErrorCode::DataLoss,
                          name + " in " + m_path.filename().string() + " is damaged ("
                              + zip_file_strerror(file) + "): fetch it again");
        if (count <= 0)
            break;
        status = sink({buffer.data(), static_cast<std::size_t>(count)});
    }
    zip_fclose(file);
    return status;
}

Result<std::string> Wheel::readWhole(const std::string &name, std::size_t maxBytes) const
{
    std::string text;
    const Status status = read(name, [&](std::string_view bytes) -> Status {
        if (bytes.size() > maxBytes - text.size())
            return fail(ErrorCode::ResourceExhausted,
                        name + " in " + m_path.filename().string() + " is too large");
        text += bytes;
        return {};
    });
    if (!status)
        return tl::unexpected(status.error());
    return text;
}

} // namespace cluster
