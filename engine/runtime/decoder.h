#pragma once

#include "engine/protocol/messages.h"
#include <span>
#include <string>

namespace engine {

/// One token of a batch: where it stands and for whom.
struct BatchRow
{
    TokenId token = 0;
    int position = 0;
    int sequence = 0;
    bool wantsLogits = false;
};

enum class DecodeStatus {
    Done,
    CacheFull, ///< Nothing was changed; make room and try again.
    Aborted, ///< Interrupted: some leading rows may have been computed.
    Failed, ///< The batch was refused or the backend broke.
};

/// The model as the scheduler sees it: batches go in, logits come out, sequences share a pool of cells.
///
/// Sharing: a cell (one token at one position) may belong to several sequences and is free once it belongs to
/// none. Threads: one thread only.
class Decoder
{
public:
    virtual ~Decoder() = default;

    /// Positions of a sequence follow on from what it already has. At most maxRows() rows, maxOutputs() with
    /// logits.
    virtual DecodeStatus decode(std::span<const BatchRow> rows) = 0;
    /// Of a row of the last decode() that wanted them; valid until the next decode().
    [[nodiscard]] virtual std::span<const float> logits(int row) = 0;

    /// Cells [begin, end) of `from` belong to `to` as well; costs no memory.
    virtual void copySequence(int from, int to, int begin, int end) = 0;
    /// Takes [begin, end) from the sequence; end < 0 means all the rest.
    virtual void removeSequence(int sequence, int begin, int end) = 0;

    [[nodiscard]] virtual int maxRows() const = 0;
    [[nodiscard]] virtual int maxOutputs() const = 0;
    [[nodiscard]] virtual int sequenceLimit() const = 0; ///< Sequence numbers are below this.
    [[nodiscard]] virtual std::int64_t cellCount() const = 0;
    /// False for recurrent models: no part of a sequence can be kept, so nothing can be shared.
    [[nodiscard]] virtual bool canShare() const = 0;
};

/// Text of tokens, and what they mean. Const and safe to call from several threads.
class Vocabulary
{
public:
    virtual ~Vocabulary() = default;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual const std::string &
    piece(TokenId token) const = 0; ///< Bytes; control tokens spelled out.
    [[nodiscard]] virtual bool isEnd(TokenId token) const = 0; ///< Ends the model's answer.
    [[nodiscard]] virtual bool isSpecial(TokenId token) const = 0; ///< Not text: left out unless asked for.
    [[nodiscard]] virtual const std::vector<TokenId> &endTokens() const = 0;
};

} // namespace engine
