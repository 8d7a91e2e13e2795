#pragma once

#include <cstdint>

/// Products of matrices in llama.cpp's Q4_1 format with vectors, for CPUs with AVX2. llama.cpp computes them
/// one pair of rows at a time; here eight rows and four vectors are computed together, so that a weight is
/// unpacked once for four vectors. Numbers are the same up to the rounding of sums. No llama.cpp needed.
namespace engine {

constexpr int packedRowCount = 8;
constexpr int quantBlockSize = 32; ///< Values.

/// llama.cpp's block_q4_1: value i is `scale * quant + minimum`; the low nibbles are the first 16 quants.
struct Q4Block
{
    std::uint16_t scale; ///< IEEE half.
    std::uint16_t minimum; ///< IEEE half.
    std::uint8_t quants[16];
};

/// The same block of eight rows, four bytes of each in turn. Takes the room of eight blocks.
struct PackedQ4Block
{
    std::uint16_t scales[packedRowCount];
    std::uint16_t minima[packedRowCount];
    std::uint8_t quants[16 * packedRowCount];
};
static_assert(sizeof(PackedQ4Block) == packedRowCount * sizeof(Q4Block));

/// A part of a vector in whole bytes: value i is `scale * quant`.
struct ByteBlock
{
    float scale;
    float sum; ///< Of the values.
    std::int8_t quants[quantBlockSize]; ///< -127 to 127.
};

/// Whether this machine can run multiplyPacked() and quantizeToBytes().
[[nodiscard]] bool canMultiplyPacked();

/// `rowCount` is a multiple of packedRowCount, `blockCount` the blocks of a row. `packed` takes as many bytes
/// as `rows`.
void packRows(const Q4Block *rows, std::int64_t rowCount, std::int64_t blockCount, PackedQ4Block *packed);

/// As llama.cpp's Q8_1, except that scale and sum stay floats.
void quantizeToBytes(const float *values, std::int64_t blockCount, ByteBlock *blocks);

struct PackedMatrix
{
    const PackedQ4Block *blocks;
    std::int64_t groupCount; ///< Rows / packedRowCount.
    std::int64_t blockCount; ///< Of a row.
};

/// Element (row, vector) of the product goes to results[vector * resultStride + row].
void multiplyPacked(const PackedMatrix &matrix, const ByteBlock *vectors, std::int64_t vectorCount,
                    float *results, std::int64_t resultStride);

} // namespace engine
