#include "tests/local/storage/memory_bucket.h"

#include <unistd.h>

namespace tests {

using namespace cluster;
using namespace cluster::local;

void MemoryBucket::put(const std::string &name, const std::string &bytes)
{
    const std::scoped_lock lock(m_mutex);
    m_objects[name] = {++m_last, bytes};
}

void MemoryBucket::erase(const std::string &name)
{
    const std::scoped_lock lock(m_mutex);
    m_objects.erase(name);
    ++m_last;
}

std::string MemoryBucket::get(const std::string &name) const
{
    const std::scoped_lock lock(m_mutex);
    const auto found = m_objects.find(name);
    return found == m_objects.end() ? "(none)" : found->second.bytes;
}

std::size_t MemoryBucket::size() const
{
    const std::scoped_lock lock(m_mutex);
    return m_objects.size();
}

bool MemoryBucket::hasFolder(const std::string &name) const
{
    const std::scoped_lock lock(m_mutex);
    return m_folders.contains(name);
}

std::uint64_t MemoryBucket::changes() const
{
    const std::scoped_lock lock(m_mutex);
    return static_cast<std::uint64_t>(m_last);
}

Result<BucketContent> MemoryBucket::list(const std::string &bucket) const
{
    const std::scoped_lock lock(m_mutex);
    if (bucket != "models")
        return fail(ErrorCode::NotFound, "The specified bucket does not exist.");
    BucketContent content;
    content.isHierarchical = m_isHierarchical;
    for (const auto &[name, object] : m_objects)
        content.objects.push_back({name, object.generation, object.bytes.size()});
    for (const auto &[name, unused] : m_folders)
        content.folders.push_back(name);
    return content;
}

Status MemoryBucket::copyTo(const std::string &, const std::string &name, std::int64_t generation,
                            int file) const
{
    const std::scoped_lock lock(m_mutex);
    const auto found = m_objects.find(name);
    if (found == m_objects.end() || found->second.generation != generation)
        return fail(ErrorCode::NotFound, "No such object");
    const std::string &bytes = found->second.bytes;
    if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        return fail(ErrorCode::Internal, "can't write");
    return {};
}

Result<std::int64_t> MemoryBucket::write(const std::string &, const std::string &name, int file,
                                         std::int64_t replaced)
{
    std::string bytes;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(file, buffer, sizeof buffer)) > 0;)
        bytes.append(buffer, static_cast<std::size_t>(size));
    const std::scoped_lock lock(m_mutex);
    if (m_isFull)
        return fail(ErrorCode::ResourceExhausted, "full");
    if (name.find('\n') != std::string::npos)
        return fail(ErrorCode::InvalidArgument, "Invalid object name");
    const auto found = m_objects.find(name);
    if ((found == m_objects.end() ? 0 : found->second.generation) != replaced)
        return fail(ErrorCode::FailedPrecondition, "another generation");
    m_objects[name] = {++m_last, bytes};
    return m_last;
}

Status MemoryBucket::remove(const std::string &, const std::string &name, std::int64_t generation)
{
    const std::scoped_lock lock(m_mutex);
    const auto found = m_objects.find(name);
    if (found == m_objects.end())
        return fail(ErrorCode::NotFound, "No such object");
    if (found->second.generation != generation)
        return fail(ErrorCode::FailedPrecondition, "another generation");
    m_objects.erase(found);
    ++m_last;
    return {};
}

Status MemoryBucket::makeFolder(const std::string &, const std::string &folder)
{
    const std::scoped_lock lock(m_mutex);
    m_folders[folder] = true;
    ++m_last;
    return {};
}

Status MemoryBucket::removeFolder(const std::string &, const std::string &folder)
{
    const std::scoped_lock lock(m_mutex);
    m_folders.erase(folder);
    ++m_last;
    return {};
}

} // namespace tests
