#include "cluster/modelstore/sha256.h"

#include <array>
#include <fstream>
#include <openssl/evp.h>
#include <vector>

namespace cluster {

struct Sha256::Context
{
    Context() { EVP_DigestInit_ex(digest, EVP_sha256(), nullptr); }
    ~Context() { EVP_MD_CTX_free(digest); }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    EVP_MD_CTX *digest = EVP_MD_CTX_new();
};

Sha256::Sha256() : m_context(std::make_unique<Context>()) {}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256 &&other) noexcept = default;
Sha256 &Sha256::operator=(Sha256 &&other) noexcept = default;

void Sha256::add(std::string_view bytes)
{
    EVP_DigestUpdate(m_context->digest, bytes.data(), bytes.size());
}

std::string Sha256::hex()
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(m_context->digest, digest.data(), &size);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
        text += digits[digest[i] >> 4U];
        text += digits[digest[i] & 15U];
    }
    return text;
}

Result<std::string> sha256OfFile(const std::filesystem::path &path, const CancelToken &cancel)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return fail(ErrorCode::NotFound,
                    "can't read " + path.string() + ": is it there, and may you read it?");
    Sha256 hash;
    std::vector<char> buffer(std::size_t{1} << 20);
    while (file) {
        if (cancel.stop_requested())
            return fail(ErrorCode::Cancelled, "stopped while checking " + path.string());
        file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        hash.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
    }
    if (file.bad())
        return fail(ErrorCode::Unknown, "reading " + path.string() + " failed: check the disk");
    return hash.hex();
}

} // namespace cluster
