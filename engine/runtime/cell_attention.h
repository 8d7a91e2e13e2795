#pragma once

#include <cstdint>

/// Attention over the cells of a cache that many requests share, for CPUs with AVX2. llama.cpp looks at the
/// mask of every cell for each row, head and layer; here the cells that a row may see are listed once for all
/// its heads, and the heads that share keys and values are computed together. No llama.cpp needed.
namespace engine {

/// Whether this machine can run what follows.
[[nodiscard]] bool canAttendCells();

/// The cells that a row sees, and what the mask adds to their scores.
struct SeenCells
{
    std::int32_t *cells;
    float *added;
    std::int64_t count;
};

/// Fills `seen`, whose arrays have `cellCount` places. `mask` has IEEE halves; minus infinity hides a cell.
void listSeenCells(const std::uint16_t *mask, std::int64_t cellCount, SeenCells &seen);

/// One key or value of each cell, IEEE halves.
struct CellVectors
{
    const char *first;
    std::size_t stride; ///< Bytes from cell to cell.

    [[nodiscard]] const std::uint16_t *at(std::int64_t cell) const
    {
        return reinterpret_cast<const std::uint16_t *>(first + static_cast<std::size_t>(cell) * stride);
    }
};

/// Heads of one row that share keys and values. Strides are floats from head to head.
struct HeadGroup
{
    const float *queries;
    std::int64_t queryStride;
    float *results;
    std::int64_t resultStride;
    int heads;
    int headSize; ///< A multiple of 8.
    float scale;
};

/// Floats of scratch that attendCells() needs for so many cells.
[[nodiscard]] std::int64_t attentionScratch(std::int64_t cellCount);

/// results = softmax(scale * queries * keys + mask) * values; zeros if no cell is seen.
void attendCells(const HeadGroup &group, const SeenCells &seen, const CellVectors &keys,
                 const CellVectors &values, float *scratch);

} // namespace engine
