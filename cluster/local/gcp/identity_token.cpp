#include "cluster/local/gcp/identity_token.h"

#include "cluster/local/gcp/wire_values.h"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/rsa.h>

namespace cluster::local {

namespace {

constexpr unsigned keyBits = 2048;

std::string urlBase64(std::string_view bytes)
{
    std::string text = base64(bytes);
    while (!text.empty() && text.back() == '=')
        text.pop_back();
    for (char &c : text)
        c = c == '+' ? '-' : c == '/' ? '_' : c;
    return text;
}

} // namespace

struct IdentityTokenSigner::Key
{
    ~Key() { EVP_PKEY_free(pair); }
    EVP_PKEY *pair = EVP_RSA_gen(keyBits);
};

IdentityTokenSigner::IdentityTokenSigner() = default;
IdentityTokenSigner::~IdentityTokenSigner() = default;

Result<std::string> IdentityTokenSigner::sign(const nlohmann::json &claims)
{
    const std::scoped_lock lock(m_mutex);
    if (!m_key)
        m_key = std::make_unique<Key>();
    const std::string text = urlBase64(R"({"alg":"RS256","kid":"slipway-local-target","typ":"JWT"})") + "."
        + urlBase64(claims.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    std::size_t size = 0;
    const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
    bool isGood = m_key->pair != nullptr && context != nullptr
        && EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, m_key->pair) == 1
        && EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
    std::string signature(size, '\0');
    isGood = isGood
        && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char *>(signature.data()), &size, bytes,
                          text.size())
            == 1;
    if (!isGood)
        return fail(ErrorCode::Internal, "OpenSSL signs no identity token");
    signature.resize(size);
    return text + "." + urlBase64(signature);
}

} // namespace cluster::local
