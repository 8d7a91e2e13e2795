#pragma once

#include "cluster/base/result.h"
#include "engine/protocol/messages.h"
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The wire between front and runner: a frame is a length (4 bytes, little-endian) and so many bytes of CBOR.
/// Both ends are the same executable, so fields are positional and there is no version to agree on.
namespace engine {

using CallId = std::uint64_t; ///< Given by the front; joins a Call with its CallReply.

struct CancelRequest
{
    RequestId id = 0;
};

struct DetokenizeRequest
{
    std::vector<TokenId> tokens;
};

/// A question with one answer, served by the runner's I/O thread (embed: by the decode thread).
struct Call
{
    using Request = std::variant<ChatPromptRequest, TextPromptRequest, DetokenizeRequest, GrammarRequest,
                                 EmbeddingRequest>;
    CallId call = 0;
    Request request;
};

/// Ask for a clean end: the runner finishes its step, frees the model and exits with 0.
struct Shutdown
{
};

/// Front to runner. RunnerOptions is the first message, once.
using FrontMessage = std::variant<RunnerOptions, GenerateRequest, CancelRequest, Call, Shutdown>;

struct LoadProgress
{
    double fraction = 0; ///< 0 to 1.
};

/// The runner can't go on (bad model, no memory) and exits after this. The code says whether a restart may
/// help: Unavailable, DeadlineExceeded, Internal and Unknown may, the others do not.
struct Fatal
{
    cluster::Error error;
};

/// Chat and text prompts give a Prompt; detokenize and grammar a string; embed the floats.
struct CallReply
{
    CallId call = 0;
    std::variant<Prompt, std::string, std::vector<float>, cluster::Error> value;
};

/// Runner to front. ModelFacts means ready.
using RunnerMessage
    = std::variant<LoadProgress, ModelFacts, Fatal, GenerationEvent, RequestFailure, CallReply, RunnerStats>;

inline constexpr std::size_t frameHeaderBytes = 4;
inline constexpr std::size_t maxFrameBytes = 64U << 20U; ///< Without the length field.

/// A whole frame, ready to be written. Errors: ResourceExhausted when the message does not fit a frame.
[[nodiscard]] cluster::Result<std::string> encodeFrame(const FrontMessage &message);
[[nodiscard]] cluster::Result<std::string> encodeFrame(const RunnerMessage &message);

/// The message in a frame's body (without the length). Errors: DataLoss for anything that the encoder can't
/// have written: not CBOR, nested too deeply, bytes left over, wrong types or counts, unknown kinds.
[[nodiscard]] cluster::Result<FrontMessage> decodeFrontMessage(std::string_view body);
[[nodiscard]] cluster::Result<RunnerMessage> decodeRunnerMessage(std::string_view body);

/// Cuts a stream of bytes into frame bodies.
class FrameReader
{
public:
    void append(std::string_view bytes);

    /// The next body; nothing while it is incomplete. Errors: DataLoss for a length over maxFrameBytes; the
    /// stream can't be read any further then, and every later call says the same.
    [[nodiscard]] cluster::Result<std::optional<std::string>> next();

    [[nodiscard]] bool hasPartialFrame() const
    {
        return m_start < m_buffer.size();
    } ///< At end of file: cut off.

private:
    std::string m_buffer;
    std::size_t m_start = 0; ///< Where the unread part begins.
};

} // namespace engine
