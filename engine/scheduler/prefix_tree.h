#pragma once

#include "engine/runtime/decoder.h"
#include <functional>
#include <map>
#include <memory>

namespace engine {

/// What the cache remembers of prompts and answers: a radix tree over token ids, each leaf held by a sequence
/// of its own, so that any prefix can be given to a new request by marking cells.
///
/// Account: cells() is exact: each token of the tree is one cell of the decoder, none is counted twice. What
/// a request
///          has computed and not published is the caller's to count.
/// Locks:   a request locks the node it stands on; what is locked, and all above it, is not evicted.
/// Salts:   each has a tree of its own; nothing is shared between them.
class PrefixTree
{
public:
    class Node;

    /// Uses the decoder's sequences from `firstHolder` up to its limit.
    PrefixTree(Decoder &decoder, int firstHolder);
    ~PrefixTree();
    PrefixTree(const PrefixTree &) = delete;
    PrefixTree &operator=(const PrefixTree &) = delete;

    /// How many leading tokens are known.
    [[nodiscard]] int matchLength(const std::string &salt, std::span<const TokenId> tokens) const;

    /// Locks the longest known prefix and gives its cells to `sequence`. Its length is end() of the node.
    [[nodiscard]] Node *acquire(const std::string &salt, std::span<const TokenId> tokens, int sequence);
    void release(Node *node);

    struct Published
    {
        Node *node = nullptr; ///< Locked instead of the one given.
        int duplicates = 0; ///< Cells that the sequence gave back: the tree had these tokens already.
    };
    /// Adds tokens[end of node, end) that `sequence` has computed. May fall short when all holders are in
    /// use.
    [[nodiscard]] Published publish(Node *node, std::span<const TokenId> tokens, int end, int sequence);

    /// Frees at least `cells` (if so many are evictable), least recently used first, from the ends of leaves.
    void evict(std::int64_t cells);

    /// What has been computed since, in rows: the age of what is not used.
    void advance(int rows) { m_rowClock += rows; }
    /// Removes leaves that nobody has used for so many rows: `fresh` if they were never found again, `proven`
    /// if they were. The newest `keptCells` stay in any case.
    void forget(std::int64_t fresh, std::int64_t proven, std::int64_t keptCells);

    [[nodiscard]] static int end(const Node *node); ///< Tokens from the root to the end of the node.
    [[nodiscard]] std::int64_t cells() const { return m_cells; }
    [[nodiscard]] std::int64_t lockedCells() const { return m_lockedCells; }
    [[nodiscard]] std::int64_t evictableCells() const { return m_cells - m_lockedCells; }

private:
    struct Found
    {
        Node *node = nullptr;
        int inside = 0; ///< Tokens of the node's edge that matched.
    };
    [[nodiscard]] Node *root(const std::string &salt);
    Node *split(Node *node, int at);
    Node *append(Node *node, std::span<const TokenId> tokens, int end, int sequence);
    void lock(Node *node);
    void unlock(Node *node);
    void touch(Node *node);
    void removeLeaf(Node *leaf);
    [[nodiscard]] int takeHolder(const Node *wanting); ///< -1: none, or `wanting` has got one.
    using Condition = std::function<bool(const Node &)>;
    [[nodiscard]] Node *oldestLeaf(const Condition &condition = {}) const;

    Decoder &m_decoder;
    std::map<std::string, std::unique_ptr<Node>> m_roots;
    std::vector<int> m_freeHolders;
    std::int64_t m_cells = 0;
    std::int64_t m_lockedCells = 0;
    std::uint64_t m_clock = 0; ///< Order of use, not time.
    std::int64_t m_rowClock = 0;
};

} // namespace engine
