#include "engine/group/greeting.h"

#include <array>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdexcept>

namespace engine {
namespace {

using Json = nlohmann::json;
using cluster::ErrorCode;
using cluster::fail;

std::string frame(const Json &json)
{
    const std::string body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string text(greetingMagic);
    for (unsigned shift = 0; shift < 32; shift += 8)
        text.push_back(static_cast<char>((body.size() >> shift) & 0xFFU));
    return text + body;
}

} // namespace

std::string encode(const Hello &hello)
{
    return frame({{"protocol", hello.protocol},
                  {"build", hello.build},
                  {"role", hello.role == Hello::Role::Control ? "control" : "stream"},
                  {"token", hello.token},
                  {"session", hello.session}});
}

std::string encode(const HelloAnswer &answer)
{
    return frame({{"accepted", answer.accepted},
                  {"code", static_cast<int>(answer.code)},
                  {"message", answer.message},
                  {"session", answer.session}});
}

cluster::Result<std::size_t> greetingLength(std::string_view header)
{
    if (header.size() != greetingHeaderBytes || !header.starts_with(greetingMagic))
        return fail(ErrorCode::InvalidArgument, "it speaks another protocol");
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
        length |= std::size_t{static_cast<unsigned char>(header[greetingMagic.size() + i])} << (8 * i);
    if (length > maxGreetingBytes)
        return fail(ErrorCode::InvalidArgument,
                    "its greeting of " + std::to_string(length) + " bytes is too long");
    return length;
}

cluster::Result<Hello> decodeHello(std::string_view json)
{
    try {
        const Json value = Json::parse(json);
        Hello hello;
        hello.protocol = value.at("protocol").get<int>();
        hello.build = value.at("build").get<std::string>();
        hello.role
            = value.at("role").get<std::string>() == "stream" ? Hello::Role::Stream : Hello::Role::Control;
        hello.token = value.at("token").get<std::string>();
        hello.session = value.at("session").get<std::string>();
        return hello;
    } catch (const Json::exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("its greeting is malformed: ") + error.what());
    }
}

cluster::Result<HelloAnswer> decodeHelloAnswer(std::string_view json)
{
    try {
        const Json value = Json::parse(json);
        HelloAnswer answer;
        answer.accepted = value.at("accepted").get<bool>();
        const int code = value.at("code").get<int>();
        if (code >= 0 && code <= static_cast<int>(ErrorCode::Unknown))
            answer.code = static_cast<ErrorCode>(code);
        answer.message = value.at("message").get<std::string>();
        answer.session = value.at("session").get<std::string>();
        return answer;
    } catch (const Json::exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("its answer is malformed: ") + error.what());
    }
}

bool sameSecret(std::string_view a, std::string_view b)
{
    // Hashes are equally long, so that not even the length of the secret shows in the time.
    const auto hash = [](std::string_view text) {
        std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
        SHA256(reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data());
        return digest;
    };
    const auto left = hash(a);
    const auto right = hash(b);
    return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string newSessionName()
{
    std::array<unsigned char, 16> random{};
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
        throw std::runtime_error("the system gives no random numbers");
    std::string name;
    for (const unsigned char byte : random) {
        constexpr std::string_view digits = "0123456789abcdef";
        name.push_back(digits[byte >> 4U]);
        name.push_back(digits[byte & 0xFU]);
    }
    return name;
}

} // namespace engine
