#include "engine/scheduler/prefix_tree.h"

#include <algorithm>

namespace engine {

class PrefixTree::Node
{
public:
    std::vector<TokenId> tokens; ///< Of the edge that leads here; empty for a root only.
    Node *parent = nullptr;
    std::map<TokenId, std::unique_ptr<Node>> children; ///< By first token.
    std::string salt; ///< Of a root.
    int end = 0;
    int holder = -1; ///< Sequence with all cells from the root to here; leaves only.
    int locks = 0; ///< Of this node and all below.
    std::uint64_t lastUse = 0;
    std::int64_t lastRow = 0;
    bool wasFound = false; ///< A later request had this prefix too.

    [[nodiscard]] int begin() const { return end - static_cast<int>(tokens.size()); }
    [[nodiscard]] int holderBelow() const
    {
        const Node *node = this;
        while (!node->children.empty())
            node = node->children.begin()->second.get();
        return node->holder;
    }
};

namespace {

int commonLength(std::span<const TokenId> a, std::span<const TokenId> b)
{
    const std::size_t limit = std::min(a.size(), b.size());
    const auto difference
        = std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(limit), b.begin());
    return static_cast<int>(difference.first - a.begin());
}

} // namespace

PrefixTree::PrefixTree(Decoder &decoder, int firstHolder) : m_decoder(decoder)
{
    for (int holder = decoder.sequenceLimit() - 1; holder >= firstHolder; --holder)
        m_freeHolders.push_back(holder);
}

PrefixTree::~PrefixTree() = default;

int PrefixTree::end(const Node *node)
{
    return node->end;
}

PrefixTree::Node *PrefixTree::root(const std::string &salt)
{
    std::unique_ptr<Node> &place = m_roots[salt];
    if (!place) {
        place = std::make_unique<Node>();
        place->salt = salt;
    }
    return place.get();
}

int PrefixTree::matchLength(const std::string &salt, std::span<const TokenId> tokens) const
{
    const auto found = m_roots.find(salt);
    const Node *node = found == m_roots.end() ? nullptr : found->second.get();
    int matched = 0;
    while (node != nullptr && static_cast<std::size_t>(matched) < tokens.size()) {
        const auto child = node->children.find(tokens[static_cast<std::size_t>(matched)]);
        if (child == node->children.end())
            break;
        const int common
            = commonLength(child->second->tokens, tokens.subspan(static_cast<std::size_t>(matched)));
        matched += common;
        node = static_cast<std::size_t>(common) == child->second->tokens.size() ? child->second.get()
                                                                                : nullptr;
    }
    return matched;
}

PrefixTree::Node *PrefixTree::acquire(const std::string &salt, std::span<const TokenId> tokens, int sequence)
{
    Node *node = root(salt);
    while (static_cast<std::size_t>(node->end) < tokens.size()) {
        const auto rest = tokens.subspan(static_cast<std::size_t>(node->end));
        const auto child = node->children.find(rest.front());
        if (child == node->children.end())
            break;
        const int common = commonLength(child->second->tokens, rest);
        const bool whole = static_cast<std::size_t>(common) == child->second->tokens.size();
        node = whole ? child->second.get() : split(child->second.get(), common);
        if (!whole)
            break;
    }
    lock(node);
    touch(node);
    for (Node *found = node; found != nullptr; found = found->parent)
        found->wasFound = true;
    if (node->end > 0)
        m_decoder.copySequence(node->holderBelow(), sequence, 0, node->end);
    return node;
}

void PrefixTree::release(Node *node)
{
    touch(node);
    unlock(node);
    if (node->parent == nullptr && node->locks == 0 && node->children.empty())
        m_roots.erase(std::string(node->salt));
}

// The node keeps its lower part (those who locked it stand at its end); a new one takes the upper.
PrefixTree::Node *PrefixTree::split(Node *node, int at)
{
    Node *const parent = node->parent;
    std::unique_ptr<Node> &place = parent->children.at(node->tokens.front());
    auto upper = std::make_unique<Node>();
    upper->tokens.assign(node->tokens.begin(), node->tokens.begin() + at);
    upper->parent = parent;
    upper->end = node->begin() + at;
    upper->locks = node->locks;
    upper->lastUse = node->lastUse;
    upper->lastRow = node->lastRow;
    upper->wasFound = true;
    node->tokens.erase(node->tokens.begin(), node->tokens.begin() + at);
    node->parent = upper.get();
    upper->children[node->tokens.front()] = std::move(place);
    place = std::move(upper);
    return place.get();
}

PrefixTree::Published PrefixTree::publish(Node *node, std::span<const TokenId> tokens, int end, int sequence)
{
    Node *const start = node;
    Published result;
    while (node->end < end) {
        const auto rest
            = tokens.subspan(static_cast<std::size_t>(node->end), static_cast<std::size_t>(end - node->end));
        const auto found = node->children.find(rest.front());
        if (found == node->children.end())
            break;
        Node *child = found->second.get();
        const int common = commonLength(child->tokens, rest);
        if (static_cast<std::size_t>(common) < child->tokens.size())
            child = split(child, common);
        // Two requests computed the same: the sequence takes the tree's cells and gives its own back.
        m_decoder.removeSequence(sequence, node->end, child->end);
        m_decoder.copySequence(child->holderBelow(), sequence, node->end, child->end);
        result.duplicates += common;
        node = child;
    }
    lock(node);
    unlock(start);
    if (node->end < end)
        node = append(node, tokens, end, sequence);
    touch(node);
    result.node = node;
    return result;
}

// `node` is locked by the caller; the lock moves on to what is returned.
PrefixTree::Node *PrefixTree::append(Node *node, std::span<const TokenId> tokens, int end, int sequence)
{
    const int begin = node->end;
    const auto added = tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    const int fresh = node->holder < 0 ? takeHolder(node) : -1;
    const bool isHeldLeaf = node->holder >= 0; // perhaps only now: its last child may have been evicted
    if (isHeldLeaf && node->locks == 1) {
        m_decoder.copySequence(sequence, node->holder, begin, end);
        node->tokens.insert(node->tokens.end(), added.begin(), added.end());
        node->end = end;
        m_cells += static_cast<std::int64_t>(added.size());
        m_lockedCells += static_cast<std::int64_t>(added.size());
        return node;
    }
    const int holder = isHeldLeaf ? node->holder : fresh;
    if (holder < 0)
        return node;
    m_decoder.copySequence(sequence, holder, isHeldLeaf ? begin : 0, end);
    node->holder = -1;
    auto child = std::make_unique<Node>();
    child->tokens.assign(added.begin(), added.end());
    child->parent = node;
    child->end = end;
    child->holder = holder;
    m_cells += static_cast<std::int64_t>(added.size());
    Node *const leaf = child.get();
    node->children[added.front()] = std::move(child);
    lock(leaf);
    unlock(node);
    return leaf;
}

void PrefixTree::lock(Node *node)
{
    for (; node != nullptr; node = node->parent) {
        if (node->locks++ == 0)
            m_lockedCells += static_cast<std::int64_t>(node->tokens.size());
    }
}

void PrefixTree::unlock(Node *node)
{
    for (; node != nullptr; node = node->parent) {
        if (--node->locks == 0)
            m_lockedCells -= static_cast<std::int64_t>(node->tokens.size());
    }
}

void PrefixTree::touch(Node *node)
{
    ++m_clock;
    for (; node != nullptr; node = node->parent) {
        node->lastUse = m_clock;
        node->lastRow = m_rowClock;
    }
}

// Removing a leaf gives its holder to the parent if that becomes one, so it may take a whole branch; and the
// parent may be the node that wants one.
int PrefixTree::takeHolder(const Node *wanting)
{
    while (m_freeHolders.empty() && wanting->holder < 0) {
        Node *const leaf = oldestLeaf();
        if (leaf == nullptr)
            return -1;
        removeLeaf(leaf);
    }
    if (wanting->holder >= 0)
        return -1;
    const int holder = m_freeHolders.back();
    m_freeHolders.pop_back();
    return holder;
}

PrefixTree::Node *PrefixTree::oldestLeaf(const Condition &condition) const
{
    Node *oldest = nullptr;
    std::vector<Node *> open;
    for (const auto &[salt, tree] : m_roots)
        open.push_back(tree.get());
    while (!open.empty()) {
        Node *const node = open.back();
        open.pop_back();
        for (const auto &[first, child] : node->children)
            open.push_back(child.get());
        const bool evictable = node->children.empty() && node->locks == 0 && node->parent != nullptr;
        if (evictable && (oldest == nullptr || node->lastUse < oldest->lastUse)
            && (!condition || condition(*node)))
            oldest = node;
    }
    return oldest;
}

void PrefixTree::removeLeaf(Node *leaf)
{
    Node *const parent = leaf->parent;
    m_cells -= static_cast<std::int64_t>(leaf->tokens.size());
    const int holder = leaf->holder;
    const TokenId first = leaf->tokens.front();
    const bool parentTakesHolder = parent->parent != nullptr && parent->children.size() == 1;
    m_decoder.removeSequence(holder, parentTakesHolder ? parent->end : 0, -1);
    parent->children.erase(first);
    if (parentTakesHolder)
        parent->holder = holder;
    else
        m_freeHolders.push_back(holder);
    if (parent->parent == nullptr && parent->children.empty() && parent->locks == 0)
        m_roots.erase(std::string(parent->salt));
}

void PrefixTree::forget(std::int64_t fresh, std::int64_t proven, std::int64_t keptCells)
{
    while (evictableCells() > keptCells) {
        Node *const leaf = oldestLeaf(
            [&](const Node &node) { return m_rowClock - node.lastRow > (node.wasFound ? proven : fresh); });
        if (leaf == nullptr)
            return;
        removeLeaf(leaf);
    }
}

void PrefixTree::evict(std::int64_t cells)
{
    while (cells > 0) {
        Node *const leaf = oldestLeaf();
        if (leaf == nullptr)
            return;
        const auto size = static_cast<std::int64_t>(leaf->tokens.size());
        if (cells >= size) {
            removeLeaf(leaf);
        } else {
            leaf->end -= static_cast<int>(cells);
            leaf->tokens.resize(static_cast<std::size_t>(size - cells));
            m_decoder.removeSequence(leaf->holder, leaf->end, -1);
            m_cells -= cells;
        }
        cells -= size;
    }
}

} // namespace engine
