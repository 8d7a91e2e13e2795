#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cluster::local {

/// MD5 and CRC32C of bytes that come in pieces, as Cloud Storage prints them (base64; the CRC big-endian).
class ObjectChecksums
{
public:
    ObjectChecksums();
    ~ObjectChecksums();
    ObjectChecksums(ObjectChecksums &&other) noexcept;
    ObjectChecksums &operator=(ObjectChecksums &&other) noexcept;

    void add(std::string_view bytes);
    [[nodiscard]] std::string crc32c() const;
    std::string md5(); ///< nothing may be added afterwards

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace cluster::local
