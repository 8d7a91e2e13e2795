#include "engine/runtime/cell_attention.h"
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <random>

using namespace engine;

namespace {

constexpr std::uint16_t hidden = 0xFC00; // minus infinity

struct Half
{
    std::uint16_t bits = 0;
    double value = 0;
};

Half randomHalf(std::mt19937 &random)
{
    const int exponent = static_cast<int>(random() % 4) - 3;
    const int mantissa = static_cast<int>(random() % 1024);
    const bool negative = random() % 2 == 0;
    const double value = std::ldexp(1 + mantissa / 1024.0, exponent);
    return {static_cast<std::uint16_t>((negative ? 0x8000 : 0) | (exponent + 15) << 10 | mantissa),
            negative ? -value : value};
}

/// A small cache, and the plain formula to compare with.
class Cache
{
public:
    Cache(int cells, int heads, int headSize)
        : m_heads(heads), m_headSize(headSize), mask(static_cast<std::size_t>(cells), 0),
          m_keys(static_cast<std::size_t>(cells * headSize)), m_values(m_keys.size()),
          m_queries(static_cast<std::size_t>(heads * headSize))
    {
        for (Half &half : m_keys)
            half = randomHalf(m_random);
        for (Half &half : m_values)
            half = randomHalf(m_random);
        std::uniform_real_distribution<float> uniform(-2, 2);
        std::generate(m_queries.begin(), m_queries.end(), [&] { return uniform(m_random); });
    }

private:
    std::mt19937 m_random{8};
    int m_heads;
    int m_headSize;

public:
    std::vector<std::uint16_t> mask;

    std::vector<float> compute() const
    {
        std::vector<std::int32_t> cells(mask.size());
        std::vector<float> added(mask.size());
        SeenCells seen{cells.data(), added.data(), 0};
        listSeenCells(mask.data(), static_cast<std::int64_t>(mask.size()), seen);
        const std::vector<std::uint16_t> keys = bitsOf(m_keys);
        const std::vector<std::uint16_t> values = bitsOf(m_values);
        std::vector<float> scratch(static_cast<std::size_t>(attentionScratch(seen.count)));
        std::vector<float> results(m_queries.size(), NAN);
        const auto stride = static_cast<std::size_t>(m_headSize) * sizeof(std::uint16_t);
        attendCells({m_queries.data(), m_headSize, results.data(), m_headSize, m_heads, m_headSize, scale},
                    seen, {reinterpret_cast<const char *>(keys.data()), stride},
                    {reinterpret_cast<const char *>(values.data()), stride}, scratch.data());
        return results;
    }

    std::vector<double> expected(double addedToFirst = 0) const
    {
        std::vector<double> results(m_queries.size(), 0);
        for (int head = 0; head < m_heads; ++head) {
            double total = 0;
            std::vector<double> sums(static_cast<std::size_t>(m_headSize), 0);
            for (std::size_t cell = 0; cell < mask.size(); ++cell) {
                if (mask[cell] == hidden)
                    continue;
                double score = 0;
                for (int d = 0; d < m_headSize; ++d)
                    score += static_cast<double>(m_queries[at(head, d)]) * m_keys[at(cell, d)].value;
                const double weight
                    = std::exp(score * static_cast<double>(scale) + (cell == 0 ? addedToFirst : 0));
                total += weight;
                for (int d = 0; d < m_headSize; ++d)
                    sums[static_cast<std::size_t>(d)] += weight * m_values[at(cell, d)].value;
            }
            for (int d = 0; d < m_headSize; ++d)
                results[at(head, d)] = total > 0 ? sums[static_cast<std::size_t>(d)] / total : 0;
        }
        return results;
    }

    static double largestError(const std::vector<float> &results, const std::vector<double> &expected)
    {
        double largest = 0;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const double error = std::abs(static_cast<double>(results[i]) - expected[i]);
            largest = std::isnan(error) ? INFINITY : std::max(largest, error);
        }
        return largest;
    }

private:
    static constexpr float scale = 0.125F;

    template<typename T>
    std::size_t at(T row, int d) const
    {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(m_headSize)
            + static_cast<std::size_t>(d);
    }

    static std::vector<std::uint16_t> bitsOf(const std::vector<Half> &halves)
    {
        std::vector<std::uint16_t> bits;
        for (const Half &half : halves)
            bits.push_back(half.bits);
        return bits;
    }

    std::vector<Half> m_keys;
    std::vector<Half> m_values;
    std::vector<float> m_queries;
};

} // namespace

class CellAttentionTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void resultsAreThoseOfTheFormula_data();
    void resultsAreThoseOfTheFormula();
    void hiddenCellsDoNotCount_data();
    void hiddenCellsDoNotCount();
    void whatTheMaskAddsCounts();
    void aRowThatSeesNothingGivesZeros();
};

void CellAttentionTest::initTestCase()
{
    if (!canAttendCells())
        QSKIP("this machine has no AVX2: llama.cpp's own kernels are used");
}

void CellAttentionTest::resultsAreThoseOfTheFormula_data()
{
    QTest::addColumn<int>("cells");
    QTest::addColumn<int>("heads");
    QTest::addColumn<int>("headSize");
    for (const int heads : {1, 2, 3, 4, 5, 8, 9})
        QTest::addRow("%d heads", heads) << 50 << heads << 64;
    for (const int cells : {1, 7, 8, 9, 16, 17, 1000})
        QTest::addRow("%d cells", cells) << cells << 3 << 64;
    for (const int size : {8, 24, 96, 128, 256})
        QTest::addRow("heads of %d", size) << 33 << 3 << size;
}

void CellAttentionTest::resultsAreThoseOfTheFormula()
{
    QFETCH(int, cells);
    QFETCH(int, heads);
    QFETCH(int, headSize);
    const Cache cache(cells, heads, headSize);
    const double error = Cache::largestError(cache.compute(), cache.expected());
    QVERIFY2(error < 1e-5, qPrintable(QString::number(error)));
}

void CellAttentionTest::hiddenCellsDoNotCount_data()
{
    QTest::addColumn<int>("seenEach");
    QTest::newRow("every third is seen") << 3;
    QTest::newRow("one in a hundred is seen") << 100;
    QTest::newRow("only the first is seen") << 1000;
}

void CellAttentionTest::hiddenCellsDoNotCount()
{
    QFETCH(int, seenEach);
    Cache cache(301, 3, 64);
    for (std::size_t cell = 0; cell < cache.mask.size(); ++cell)
        cache.mask[cell] = cell % static_cast<std::size_t>(seenEach) == 0 ? 0 : hidden;
    const double error = Cache::largestError(cache.compute(), cache.expected());
    QVERIFY2(error < 1e-5, qPrintable(QString::number(error)));
}

void CellAttentionTest::whatTheMaskAddsCounts()
{
    Cache cache(20, 3, 64);
    cache.mask[0] = 0xC000; // -2
    const double error = Cache::largestError(cache.compute(), cache.expected(-2));
    QVERIFY2(error < 1e-5, qPrintable(QString::number(error)));
}

void CellAttentionTest::aRowThatSeesNothingGivesZeros()
{
    Cache cache(40, 5, 64);
    std::fill(cache.mask.begin(), cache.mask.end(), hidden);
    QCOMPARE(cache.compute(), std::vector<float>(5 * 64, 0.0F));
}

QTEST_APPLESS_MAIN(CellAttentionTest)
#include "tst_cell_attention.moc"
