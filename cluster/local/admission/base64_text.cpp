#include "cluster/local/admission/base64_text.h"

#include <openssl/evp.h>

namespace cluster::local {

std::string base64Text(const std::string &bytes)
{
    std::string encoded(4 * ((bytes.size() + 2) / 3) + 1, '\0'); // EVP ends it with a NUL
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(encoded.data()),
                                     reinterpret_cast<const unsigned char *>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    encoded.resize(static_cast<std::size_t>(size));
    return encoded;
}

std::optional<std::string> base64Bytes(const std::string &text)
{
    if (text.size() % 4 != 0)
        return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char *>(bytes.data()),
                                     reinterpret_cast<const unsigned char *>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0)
        return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2
        : text.ends_with('=')                        ? 1
                                                     : 0; // OpenSSL counts it in
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

} // namespace cluster::local
