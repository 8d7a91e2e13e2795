#pragma once

#include "cluster/base/result.h"
#include "cluster/openai/sse_parser.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cluster {

/// Token counts by the server. Chunks are never counted instead: one may hold several tokens, or none.
struct TokenUsage
{
    std::int64_t promptTokens = 0;
    std::int64_t completionTokens = 0;
    std::int64_t totalTokens = 0;
    std::optional<std::int64_t> cachedPromptTokens;
    std::optional<std::int64_t> reasoningTokens;
};

/// A piece of a tool call. Pieces with one `index` are one call; each field may be missing in any piece.
struct ToolCallDelta
{
    int index = 0;
    std::string id;
    std::string name;
    std::string arguments; ///< a piece of JSON text
};

struct ChoiceDelta
{
    int index = 0;
    std::string role;
    std::string content; ///< of a completion: its `text`
    std::string
        reasoning; ///< from `reasoning` or `reasoning_content`; where both come, they are the same text
    std::vector<ToolCallDelta> toolCalls;
    std::string finishReason; ///< empty until the choice ends; unknown words are kept as they are
    std::string stopReason; ///< vLLM: the stop string or token id that ended it
    std::string refusal;
};

/// One `data:` object of a chat or completion stream (or a whole answer that was not streamed).
struct AnswerChunk
{
    std::string id;
    std::string model;
    std::string systemFingerprint;
    std::vector<ChoiceDelta> choices; ///< empty in a usage chunk
    std::optional<TokenUsage> usage;
};

/// What a server said about a failure, in whatever shape it said it.
struct ApiError
{
    int status = 0; ///< HTTP status, or the `code` of an error inside a stream; 0 where there is none
    std::string message;
    std::string type; ///< "BadRequestError", ...
    std::string param; ///< the field that is wrong
};

/// `data: [DONE]`: the server has said everything.
struct StreamDone
{
};

using StreamEvent = std::variant<AnswerChunk, ApiError, StreamDone>;

/// The meaning of one event of a chat or completion stream. `event: error`, {"error": {...}}, {"error":
/// "text"},
/// {"object": "error"} and {"detail": ...} are all an ApiError.
/// Errors: DataLoss where the data is not JSON of this kind.
Result<StreamEvent> parseStreamEvent(const SseEvent &event);

/// A whole answer (`choices[].message` or `choices[].text`) as one chunk; a failure told under HTTP 200 is an
/// ApiError.
Result<std::variant<AnswerChunk, ApiError>> parseWholeAnswer(std::string_view body);

/// The error in the body of an answer whose status is not 2xx: flat, nested, string, `detail` (text or list),
/// plain text, HTML or nothing. Always gives a message.
ApiError parseErrorBody(int status, std::string_view body);

/// `where` names the server. 401 Unauthenticated, 403 PermissionDenied, 404 NotFound, 408, 429 and 503
/// ResourceExhausted or Unavailable ("try again later"), other 4xx InvalidArgument, 501 Unimplemented, else
/// Internal.
Error toError(const ApiError &apiError, const std::string &where);

} // namespace cluster
