#pragma once

#include "cluster/base/result.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace engine {

/// What a leader says first on each connection to a worker, before anything else passes: 8 bytes of magic, a
/// length (4 bytes, little-endian) and so many bytes of JSON. The answer has the same form.
struct Hello
{
    enum class Role {
        Control, ///< Opens a session: heartbeats, and the session lives as long as the connection.
        Stream, ///< A connection of the RPC client, within a session.
    };
    int protocol = 0;
    std::string build; ///< Leader and worker must be the same build: ggml's RPC has no stable protocol.
    Role role = Role::Control;
    std::string token;
    std::string session; ///< Of a stream: which session it belongs to.
};

struct HelloAnswer
{
    bool accepted = false;
    cluster::ErrorCode code = cluster::ErrorCode::Unknown; ///< Why not: Unauthenticated, FailedPrecondition
                                                           ///< (another build), ResourceExhausted (busy), ...
    std::string message;
    std::string session; ///< For control connections.
};

inline constexpr int groupProtocol = 1;
inline constexpr std::string_view greetingMagic = "SLIPWAY1";
inline constexpr std::size_t greetingHeaderBytes = 12;
inline constexpr std::size_t maxGreetingBytes = 4096;

[[nodiscard]] std::string encode(const Hello &hello);
[[nodiscard]] std::string encode(const HelloAnswer &answer);

/// The length of the JSON that follows. Errors: InvalidArgument for a foreign protocol or an absurd length.
[[nodiscard]] cluster::Result<std::size_t> greetingLength(std::string_view header);

/// Errors: InvalidArgument.
[[nodiscard]] cluster::Result<Hello> decodeHello(std::string_view json);
[[nodiscard]] cluster::Result<HelloAnswer> decodeHelloAnswer(std::string_view json);

/// Takes equally long wherever the texts differ.
[[nodiscard]] bool sameSecret(std::string_view a, std::string_view b);

/// A new session's name: 32 hexadecimal digits that can't be guessed.
[[nodiscard]] std::string newSessionName();

} // namespace engine
