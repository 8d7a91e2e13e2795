#include "cluster/local/gcp/storage_checksums.h"

#include "cluster/local/gcp/wire_values.h"
#include <array>
#include <boost/crc.hpp>
#include <openssl/evp.h>
#include <stdexcept>

namespace cluster::local {

struct ObjectChecksums::State
{
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc; // Castagnoli
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> md5{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

ObjectChecksums::ObjectChecksums() : m_state(std::make_unique<State>())
{
    if (!m_state->md5 || EVP_DigestInit_ex(m_state->md5.get(), EVP_md5(), nullptr) != 1)
        throw std::runtime_error("OpenSSL has no MD5 here, and Cloud Storage's clients check it");
}

ObjectChecksums::~ObjectChecksums() = default;
ObjectChecksums::ObjectChecksums(ObjectChecksums &&other) noexcept = default;
ObjectChecksums &ObjectChecksums::operator=(ObjectChecksums &&other) noexcept = default;

void ObjectChecksums::add(std::string_view bytes)
{
    m_state->crc.process_bytes(bytes.data(), bytes.size());
    EVP_DigestUpdate(m_state->md5.get(), bytes.data(), bytes.size());
}

std::string ObjectChecksums::crc32c() const
{
    const std::uint32_t value = m_state->crc.checksum();
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>((value >> shift) & 0xff);
    return base64(bytes);
}

std::string ObjectChecksums::md5()
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    EVP_DigestFinal_ex(m_state->md5.get(), digest.data(), &length);
    return base64({reinterpret_cast<const char *>(digest.data()), length});
}

} // namespace cluster::local
