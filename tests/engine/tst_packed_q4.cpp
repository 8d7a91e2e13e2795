#include "engine/runtime/packed_q4.h"
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace engine;

namespace {

std::uint16_t halfOf(int exponent, int mantissa, bool negative)
{
    return static_cast<std::uint16_t>((negative ? 0x8000 : 0) | (exponent + 15) << 10 | mantissa);
}

double valueOf(std::uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const double value = std::ldexp(1 + (half & 1023) / 1024.0, exponent - 15);
    return (half & 0x8000) != 0 ? -value : value;
}

double weightAt(const Q4Block &block, int i)
{
    const int quant = i < 16 ? block.quants[i] & 15 : block.quants[i - 16] >> 4;
    return valueOf(block.scale) * quant + valueOf(block.minimum);
}

struct Product
{
    std::int64_t rows;
    std::int64_t blocks; // of a row
    std::vector<Q4Block> matrix;
    std::vector<ByteBlock> vectors;
    std::vector<float> results;

    Product(std::int64_t rowCount, std::int64_t blockCount, const std::vector<float> &values)
        : rows(rowCount), blocks(blockCount), matrix(static_cast<std::size_t>(rowCount * blockCount)),
          vectors(values.size() / quantBlockSize)
    {
        quantizeToBytes(values.data(), static_cast<std::int64_t>(vectors.size()), vectors.data());
    }

    std::int64_t vectorCount() const { return static_cast<std::int64_t>(vectors.size()) / blocks; }

    void compute()
    {
        std::vector<PackedQ4Block> packed(matrix.size() / packedRowCount);
        packRows(matrix.data(), rows, blocks, packed.data());
        results.assign(static_cast<std::size_t>(rows * vectorCount()), NAN);
        multiplyPacked({packed.data(), rows / packedRowCount, blocks}, vectors.data(), vectorCount(),
                       results.data(), rows);
    }

    double expected(std::int64_t row, std::int64_t vector) const
    {
        double sum = 0;
        for (std::int64_t block = 0; block < blocks; ++block) {
            const Q4Block &weights = matrix[static_cast<std::size_t>(row * blocks + block)];
            const ByteBlock &values = vectors[static_cast<std::size_t>(vector * blocks + block)];
            for (int i = 0; i < quantBlockSize; ++i)
                sum += weightAt(weights, i) * static_cast<double>(values.scale) * values.quants[i];
        }
        return sum;
    }

    double largestError() const
    {
        double largest = 0;
        for (std::int64_t vector = 0; vector < vectorCount(); ++vector) {
            for (std::int64_t row = 0; row < rows; ++row) {
                const double error
                    = std::abs(static_cast<double>(results[vector * rows + row]) - expected(row, vector));
                largest = std::isnan(error) ? INFINITY : std::max(largest, error);
            }
        }
        return largest;
    }
};

std::vector<float> randomValues(std::int64_t count, std::mt19937 &random)
{
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(), [&] { return uniform(random); });
    return values;
}

} // namespace

class PackedQ4Test : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void productsAreThoseOfTheMatrix_data();
    void productsAreThoseOfTheMatrix();
    void theLargestProductsDoNotOverflow();
    void bytesStandForTheirValues();
    void aVectorOfZerosStaysZero();
};

void PackedQ4Test::initTestCase()
{
    if (!canMultiplyPacked())
        QSKIP("this machine has no AVX2: llama.cpp's own kernels are used");
}

void PackedQ4Test::productsAreThoseOfTheMatrix_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("blocks");
    QTest::addColumn<int>("vectors");
    for (const int vectors : {1, 2, 3, 4, 5, 7, 32, 33, 70})
        QTest::addRow("%d vectors", vectors) << 24 << 3 << vectors;
    QTest::newRow("one group, one block") << 8 << 1 << 6;
    QTest::newRow("as long as a layer") << 16 << 48 << 9;
}

void PackedQ4Test::productsAreThoseOfTheMatrix()
{
    QFETCH(int, rows);
    QFETCH(int, blocks);
    QFETCH(int, vectors);
    std::mt19937 random(5);
    Product product(rows, blocks, randomValues(std::int64_t{vectors} * blocks * quantBlockSize, random));
    for (Q4Block &block : product.matrix) {
        block.scale = halfOf(-4, static_cast<int>(random() % 1024), random() % 4 == 0);
        block.minimum = halfOf(-2, static_cast<int>(random() % 1024), random() % 4 != 0);
        std::generate(std::begin(block.quants), std::end(block.quants),
                      [&] { return static_cast<std::uint8_t>(random()); });
    }
    product.compute();
    QVERIFY2(product.largestError() < 1e-3, qPrintable(QString::number(product.largestError())));
}

void PackedQ4Test::theLargestProductsDoNotOverflow()
{
    for (const float value : {1.0F, -1.0F}) {
        Product product(8, 2, std::vector<float>(4 * 2 * quantBlockSize, value));
        for (Q4Block &block : product.matrix) {
            block.scale = halfOf(0, 0, false);
            block.minimum = halfOf(-8, 0, false);
            std::fill(std::begin(block.quants), std::end(block.quants), std::uint8_t{0xFF});
        }
        product.compute();
        QVERIFY2(product.largestError() < 1e-2, qPrintable(QString::number(product.largestError())));
    }
}

void PackedQ4Test::bytesStandForTheirValues()
{
    std::mt19937 random(6);
    const std::vector<float> values = randomValues(5 * quantBlockSize, random);
    std::vector<ByteBlock> blocks(5);
    quantizeToBytes(values.data(), 5, blocks.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ByteBlock &block = blocks[i / quantBlockSize];
        const float back = block.scale * static_cast<float>(block.quants[i % quantBlockSize]);
        QVERIFY(std::abs(back - values[i]) <= 0.501F * block.scale);
    }
    for (const ByteBlock &block : blocks) {
        const int sum = std::accumulate(std::begin(block.quants), std::end(block.quants), 0);
        QCOMPARE(block.sum, block.scale * static_cast<float>(sum));
    }
}

void PackedQ4Test::aVectorOfZerosStaysZero()
{
    const std::vector<float> zeros(quantBlockSize, 0.0F);
    ByteBlock block{1, 1, {1}};
    quantizeToBytes(zeros.data(), 1, &block);
    QCOMPARE(block.scale, 0.0F);
    QCOMPARE(block.sum, 0.0F);
    QCOMPARE(int{block.quants[0]}, 0);
}

QTEST_APPLESS_MAIN(PackedQ4Test)
#include "tst_packed_q4.moc"
