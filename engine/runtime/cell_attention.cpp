#include "engine/runtime/cell_attention.h"

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
// Only these functions use AVX2, so that the program still starts, and says why it can't go on, elsewhere.
#define SLIPWAY_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace engine {

namespace {
constexpr int mostHeads = 4; ///< At once: more have no registers.
constexpr int lanes = 8;
} // namespace

std::int64_t attentionScratch(std::int64_t cellCount)
{
    return mostHeads * (cellCount + lanes);
}

#if defined(__x86_64__)

namespace {

constexpr float nothing = -std::numeric_limits<float>::infinity();

SLIPWAY_AVX2 inline __m256 floatsOf(const std::uint16_t *halves)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(halves)));
}

SLIPWAY_AVX2 inline float sumOf(__m256 values)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

SLIPWAY_AVX2 inline float largestOf(__m256 values)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

// e^x for x <= 0: 2^n times the Taylor series of the rest, which is at most ln(2) / 2 (error below 2e-7).
SLIPWAY_AVX2 inline __m256 exponentialOf(__m256 x)
{
    x = _mm256_max_ps(x, _mm256_set1_ps(-87.0F));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln(2) in two parts, the first one exact.
    __m256 rest = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
    rest = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), rest);
    __m256 series = _mm256_set1_ps(1.0F / 720);
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F / 120));
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F / 24));
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F / 6));
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F / 2));
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F));
    series = _mm256_fmadd_ps(series, rest, _mm256_set1_ps(1.0F));
    const __m256i power
        = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(series, _mm256_castsi256_ps(power));
}

// Some cells together, so that a query is loaded once for all of them.
template<int Heads, int Cells>
SLIPWAY_AVX2 inline void scoreTile(const HeadGroup &group, const SeenCells &seen, const CellVectors &keys,
                                   float *scores, std::int64_t scoreStride, std::int64_t first)
{
    const std::uint16_t *key[Cells];
    __m256 sums[Heads][Cells];
    for (int cell = 0; cell < Cells; ++cell) {
        key[cell] = keys.at(seen.cells[first + cell]);
        for (int head = 0; head < Heads; ++head)
            sums[head][cell] = _mm256_setzero_ps();
    }
    for (int d = 0; d < group.headSize; d += lanes) {
        __m256 parts[Cells];
        for (int cell = 0; cell < Cells; ++cell)
            parts[cell] = floatsOf(key[cell] + d);
        for (int head = 0; head < Heads; ++head) {
            const __m256 query = _mm256_loadu_ps(group.queries + head * group.queryStride + d);
            for (int cell = 0; cell < Cells; ++cell)
                sums[head][cell] = _mm256_fmadd_ps(query, parts[cell], sums[head][cell]);
        }
    }
    for (int head = 0; head < Heads; ++head) {
        for (int cell = 0; cell < Cells; ++cell)
            scores[head * scoreStride + first + cell]
                = sumOf(sums[head][cell]) * group.scale + seen.added[first + cell];
    }
}

template<int Heads>
SLIPWAY_AVX2 inline void scoreCells(const HeadGroup &group, const SeenCells &seen, const CellVectors &keys,
                                    float *scores, std::int64_t scoreStride)
{
    constexpr int together = Heads > 3 ? 2 : 3; // of 16 registers
    std::int64_t i = 0;
    for (; i + together <= seen.count; i += together)
        scoreTile<Heads, together>(group, seen, keys, scores, scoreStride, i);
    for (; i < seen.count; ++i)
        scoreTile<Heads, 1>(group, seen, keys, scores, scoreStride, i);
}

/// Scores become weights; returns their sum.
SLIPWAY_AVX2 inline float weighCells(float *scores, std::int64_t count)
{
    std::fill(scores + count, scores + count + lanes, nothing);
    __m256 most = _mm256_set1_ps(nothing);
    for (std::int64_t i = 0; i < count; i += lanes)
        most = _mm256_max_ps(most, _mm256_loadu_ps(scores + i));
    const __m256 largest = _mm256_set1_ps(largestOf(most));
    __m256 sum = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < count; i += lanes) {
        const __m256 weights = exponentialOf(_mm256_sub_ps(_mm256_loadu_ps(scores + i), largest));
        _mm256_storeu_ps(scores + i, weights);
        sum = _mm256_add_ps(sum, weights);
    }
    return sumOf(sum);
}

template<int Heads, int Parts>
SLIPWAY_AVX2 inline void sumValues(const HeadGroup &group, const SeenCells &seen, const CellVectors &values,
                                   const float *weights, std::int64_t weightStride, const float *factors,
                                   int from)
{
    __m256 sums[Heads][Parts];
    for (auto &head : sums) {
        for (__m256 &part : head)
            part = _mm256_setzero_ps();
    }
    for (std::int64_t i = 0; i < seen.count; ++i) {
        const std::uint16_t *const value = values.at(seen.cells[i]) + from;
        __m256 weight[Heads];
        for (int head = 0; head < Heads; ++head)
            weight[head] = _mm256_set1_ps(weights[head * weightStride + i]);
        for (int part = 0; part < Parts; ++part) {
            const __m256 numbers = floatsOf(value + part * lanes);
            for (int head = 0; head < Heads; ++head)
                sums[head][part] = _mm256_fmadd_ps(weight[head], numbers, sums[head][part]);
        }
    }
    for (int head = 0; head < Heads; ++head) {
        for (int part = 0; part < Parts; ++part)
            _mm256_storeu_ps(group.results + head * group.resultStride + from + part * lanes,
                             _mm256_mul_ps(sums[head][part], _mm256_set1_ps(factors[head])));
    }
}

template<int Heads>
SLIPWAY_AVX2 void attendHeads(const HeadGroup &group, const SeenCells &seen, const CellVectors &keys,
                              const CellVectors &values, float *scratch)
{
    const std::int64_t stride = seen.count + lanes;
    scoreCells<Heads>(group, seen, keys, scratch, stride);
    float factors[Heads];
    for (int head = 0; head < Heads; ++head)
        factors[head] = 1 / weighCells(scratch + head * stride, seen.count);
    constexpr int parts = Heads > 3 ? 2 : 4; // of 16 registers
    int from = 0;
    for (; from + parts * lanes <= group.headSize; from += parts * lanes)
        sumValues<Heads, parts>(group, seen, values, scratch, stride, factors, from);
    for (; from < group.headSize; from += lanes)
        sumValues<Heads, 1>(group, seen, values, scratch, stride, factors, from);
}

} // namespace

bool canAttendCells()
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

SLIPWAY_AVX2 void listSeenCells(const std::uint16_t *mask, std::int64_t cellCount, SeenCells &seen)
{
    constexpr int step = 16;
    constexpr std::uint16_t hidden = 0xFC00; // minus infinity
    const __m256i allHidden = _mm256_set1_epi16(static_cast<short>(hidden));
    seen.count = 0;
    const auto look = [&](std::int64_t cell) SLIPWAY_AVX2 {
        if (mask[cell] == hidden)
            return;
        seen.cells[seen.count] = static_cast<std::int32_t>(cell);
        seen.added[seen.count] = _cvtsh_ss(mask[cell]);
        ++seen.count;
    };
    std::int64_t cell = 0;
    for (; cell + step <= cellCount; cell += step) {
        const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(mask + cell));
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi16(values, allHidden)) == -1)
            continue;
        for (int i = 0; i < step; ++i)
            look(cell + i);
    }
    for (; cell < cellCount; ++cell)
        look(cell);
}

SLIPWAY_AVX2 void attendCells(const HeadGroup &group, const SeenCells &seen, const CellVectors &keys,
                              const CellVectors &values, float *scratch)
{
    if (seen.count == 0) {
        for (int head = 0; head < group.heads; ++head)
            std::fill_n(group.results + head * group.resultStride, group.headSize, 0.0F);
        return;
    }
    for (int first = 0; first < group.heads; first += mostHeads) {
        HeadGroup part = group;
        part.queries += first * group.queryStride;
        part.results += first * group.resultStride;
        switch (std::min(mostHeads, group.heads - first)) {
        case 1:
            attendHeads<1>(part, seen, keys, values, scratch);
            break;
        case 2:
            attendHeads<2>(part, seen, keys, values, scratch);
            break;
        case 3:
            attendHeads<3>(part, seen, keys, values, scratch);
            break;
        default:
            attendHeads<4>(part, seen, keys, values, scratch);
        }
    }
}

#else

bool canAttendCells()
{
    return false; // other machines keep to llama.cpp's own kernels
}

void listSeenCells(const std::uint16_t * /*mask*/, std::int64_t /*cellCount*/, SeenCells & /*seen*/) {}

void attendCells(const HeadGroup & /*group*/, const SeenCells & /*seen*/, const CellVectors & /*keys*/,
                 const CellVectors & /*values*/, float * /*scratch*/)
{
}

#endif

} // namespace engine
