#include "cluster/local/tpuwebhook/base64_text.h"

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

} // namespace cluster::local
