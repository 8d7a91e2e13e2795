#include "engine/runtime/packed_q4.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
// Only these functions use AVX2, so that the program still starts, and says why it can't go on, elsewhere.
#define SLIPWAY_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace engine {

void packRows(const Q4Block *rows, std::int64_t rowCount, std::int64_t blockCount, PackedQ4Block *packed)
{
    constexpr int piece = 4; // bytes of one row that stand together: a lane of 32 bits
    for (std::int64_t first = 0; first < rowCount; first += packedRowCount) {
        for (std::int64_t block = 0; block < blockCount; ++block, ++packed) {
            for (int row = 0; row < packedRowCount; ++row) {
                const Q4Block &from = rows[(first + row) * blockCount + block];
                packed->scales[row] = from.scale;
                packed->minima[row] = from.minimum;
                for (int i = 0; i < 16 / piece; ++i)
                    std::memcpy(packed->quants + (i * packedRowCount + row) * piece, from.quants + i * piece,
                                piece);
            }
        }
    }
}

#if defined(__x86_64__)

namespace {

SLIPWAY_AVX2 inline __m256i broadcastFour(const std::int8_t *bytes)
{
    std::int32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return _mm256_set1_epi32(value);
}

SLIPWAY_AVX2 inline __m256 floatsOf(const std::uint16_t *halves)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(halves)));
}

// Eight rows by `Vectors` vectors. A product of a nibble and a byte is at most 15 * 127, and a lane of 16
// bits takes 16 of them: 30,480, so that a block can be summed up before it is widened.
template<int Vectors>
SLIPWAY_AVX2 inline void multiplyTile(const PackedQ4Block *blocks, std::int64_t blockCount,
                                      const ByteBlock *vectors, float *results, std::int64_t resultStride)
{
    const __m256i nibbles = _mm256_set1_epi8(15);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 sums[Vectors];
    for (int v = 0; v < Vectors; ++v)
        sums[v] = _mm256_setzero_ps();
    for (std::int64_t block = 0; block < blockCount; ++block) {
        const PackedQ4Block &weights = blocks[block];
        __m256i products[Vectors];
        for (int v = 0; v < Vectors; ++v)
            products[v] = _mm256_setzero_si256();
        for (int i = 0; i < 4; ++i) {
            const __m256i bytes
                = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(weights.quants + 32 * i));
            const __m256i low = _mm256_and_si256(bytes, nibbles);
            const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibbles);
            for (int v = 0; v < Vectors; ++v) {
                const std::int8_t *const values = vectors[v * blockCount + block].quants + 4 * i;
                products[v] = _mm256_add_epi16(products[v], _mm256_maddubs_epi16(low, broadcastFour(values)));
                products[v]
                    = _mm256_add_epi16(products[v], _mm256_maddubs_epi16(high, broadcastFour(values + 16)));
            }
        }
        const __m256 scales = floatsOf(weights.scales);
        const __m256 minima = floatsOf(weights.minima);
        for (int v = 0; v < Vectors; ++v) {
            const ByteBlock &vector = vectors[v * blockCount + block];
            const __m256 total = _mm256_cvtepi32_ps(_mm256_madd_epi16(products[v], ones));
            sums[v] = _mm256_fmadd_ps(minima, _mm256_set1_ps(vector.sum), sums[v]);
            sums[v] = _mm256_fmadd_ps(_mm256_mul_ps(scales, _mm256_set1_ps(vector.scale)), total, sums[v]);
        }
    }
    for (int v = 0; v < Vectors; ++v)
        _mm256_storeu_ps(results + v * resultStride, sums[v]);
}

SLIPWAY_AVX2 inline float largestOf(__m256 values)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

SLIPWAY_AVX2 inline int sumOf(__m256i values)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 1)));
}

} // namespace

bool canMultiplyPacked()
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

SLIPWAY_AVX2 void quantizeToBytes(const float *values, std::int64_t blockCount, ByteBlock *blocks)
{
    const __m256 sign = _mm256_set1_ps(-0.0F);
    // Packing works within halves of 128 bits; this puts the pieces into order again.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (std::int64_t block = 0; block < blockCount; ++block, values += quantBlockSize) {
        __m256 parts[4];
        __m256 largest = _mm256_setzero_ps();
        for (int i = 0; i < 4; ++i) {
            parts[i] = _mm256_loadu_ps(values + 8 * i);
            largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, parts[i]));
        }
        const float most = largestOf(largest);
        const __m256 factor = _mm256_set1_ps(most > 0 ? 127.0F / most : 0.0F);
        __m256i quants[4];
        for (int i = 0; i < 4; ++i)
            quants[i] = _mm256_cvtps_epi32(_mm256_mul_ps(parts[i], factor)); // rounds to nearest
        const __m256i total = _mm256_add_epi32(_mm256_add_epi32(quants[0], quants[1]),
                                               _mm256_add_epi32(quants[2], quants[3]));
        const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(quants[0], quants[1]),
                                                 _mm256_packs_epi32(quants[2], quants[3]));
        ByteBlock &to = blocks[block];
        to.scale = most / 127.0F;
        to.sum = to.scale * static_cast<float>(sumOf(total));
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to.quants),
                            _mm256_permutevar8x32_epi32(bytes, order));
    }
}

SLIPWAY_AVX2 void multiplyPacked(const PackedMatrix &matrix, const ByteBlock *vectors,
                                 std::int64_t vectorCount, float *results, std::int64_t resultStride)
{
    constexpr std::int64_t keptVectors = 32; // Stay in the cache while the whole matrix goes by.
    const std::int64_t blockCount = matrix.blockCount;
    for (std::int64_t first = 0; first < vectorCount; first += keptVectors) {
        const std::int64_t last = std::min(vectorCount, first + keptVectors);
        for (std::int64_t group = 0; group < matrix.groupCount; ++group) {
            const PackedQ4Block *const blocks = matrix.blocks + group * blockCount;
            float *const rows = results + group * packedRowCount;
            std::int64_t vector = first;
            const auto tile = [&](auto multiply, int count) {
                multiply(blocks, blockCount, vectors + vector * blockCount, rows + vector * resultStride,
                         resultStride);
                vector += count;
            };
            while (last - vector >= 4)
                tile(multiplyTile<4>, 4);
            if (last - vector == 3)
                tile(multiplyTile<3>, 3);
            else if (last - vector == 2)
                tile(multiplyTile<2>, 2);
            else if (last - vector == 1)
                tile(multiplyTile<1>, 1);
        }
    }
}

#else

bool canMultiplyPacked()
{
    return false; // other machines keep to llama.cpp's own kernels
}

void quantizeToBytes(const float * /*values*/, std::int64_t /*blockCount*/, ByteBlock * /*blocks*/) {}

void multiplyPacked(const PackedMatrix & /*matrix*/, const ByteBlock * /*vectors*/,
                    std::int64_t /*vectorCount*/, float * /*results*/, std::int64_t /*resultStride*/)
{
}

#endif

} // namespace engine
