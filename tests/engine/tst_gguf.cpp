#include "engine/gguf/byte_reader.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/header_reader.h"
#include "gguf_writer.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <random>
#include <sstream>

using namespace engine;

namespace {

/// Facts or the problem's text with its offset.
tl::expected<GgufFacts, std::string> parse(const std::string &file)
{
    std::istringstream stream(file);
    try {
        return readHeader(stream, file.size());
    } catch (const GgufProblem &problem) {
        return tl::unexpected(problem.what + " at " + std::to_string(problem.offset));
    }
}

std::string model(const char *path)
{
    return std::string(SLIPWAY_MODELS_DIR) + "/" + path;
}

} // namespace

class GgufTest : public QObject
{
    Q_OBJECT

private slots:
    void aSmallModelIsRead();
    void numbersByLayerCountAsTheirLargest();
    void badFilesAreNamed_data();
    void badFilesAreNamed();
    void aFileCutAnywhereIsRefused();
    void randomChangesNeverCrash();
    void realModelsAreRead_data();
    void realModelsAreRead();
    void aMissingFileAndAFolderAreNamed();
};

void GgufTest::aSmallModelIsRead()
{
    const auto facts = parse(GgufWriter().model().file());
    QVERIFY2(facts.has_value(), facts ? "" : facts.error().c_str());
    QCOMPARE(facts->architecture, std::string("llama"));
    QCOMPARE(facts->name, std::string("Tiny"));
    QCOMPARE(facts->licence, std::string("apache-2.0"));
    QCOMPARE(facts->fileType, std::string("Q4_1"));
    QCOMPARE(facts->layers, 2);
    QCOMPARE(facts->heads, 4);
    QCOMPARE(facts->kvHeads, 2);
    QCOMPARE(facts->contextLength, 64);
    QCOMPARE(facts->vocabularySize, 4);
    QCOMPARE(facts->chatTemplate, std::string("{{ messages }}"));
    QCOMPARE(facts->parameterCount, std::uint64_t{32 * 4 + 32});
    QCOMPARE(facts->tensorBytes, std::uint64_t{96 + 128});
    QCOMPARE(facts->headerBytes + facts->tensorBytes, facts->fileBytes);
    QCOMPARE(facts->tensorTypes, (std::map<std::string, std::uint64_t>{{"F32", 1}, {"Q4_1", 1}}));
}

void GgufTest::numbersByLayerCountAsTheirLargest()
{
    GgufWriter writer;
    writer.text("general.architecture", "x").number("x.block_count", 3).number("x.embedding_length", 8);
    writer.number("x.context_length", 8).numbers("x.attention.head_count", {0, 8, 4}).tensor("t", {8}, 0, 32);
    const auto facts = parse(writer.file());
    QVERIFY2(facts.has_value(), facts ? "" : facts.error().c_str());
    QCOMPARE(facts->heads, 8);
    QCOMPARE(facts->kvHeads, 8);
}

void GgufTest::badFilesAreNamed_data()
{
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const std::string &file, const char *message) {
        QTest::newRow(name) << QByteArray::fromStdString(file) << message;
    };
    row("empty", "", "the file is empty at 0");
    row("random bytes",
        "\x7F"
        "ELF and so on",
        "not 'GGUF'");
    row("magic only", "GGUF", "the file ends within the version");
    GgufWriter writer = GgufWriter().model();
    writer.version = 1;
    row("old version", writer.file(), "version 1 is not supported (2 and 3 are) at 4");
    writer.version = 0x03000000;
    row("other byte order", writer.file(), "big-endian");
    writer = GgufWriter().model();
    writer.claimedKeys = std::uint64_t{1} << 60;
    row("more keys than bytes", writer.file(), "keys, more than the file can hold");
    writer = GgufWriter().model();
    writer.claimedTensors = std::uint64_t{1} << 60;
    row("more tensors than bytes", writer.file(), "tensors, more than the file can hold");
    writer = GgufWriter().model();
    writer.missingBytes = 64;
    row("cut off", writer.file(), "the file is cut off: its tensors need");
    writer = GgufWriter().model();
    writer.missingBytes = 200;
    row("cut off further", writer.file(), "the file is cut off");

    const auto withKeys = [](const char *change, std::uint32_t value) {
        GgufWriter changed;
        changed.text("general.architecture", "llama");
        for (const auto *key : {"block_count", "context_length", "embedding_length", "attention.head_count"})
            changed.number(std::string("llama.") + key, std::string(key) == change ? value : 4);
        return changed.tensor("t", {8}, 0, 32).file();
    };
    row("too many layers", withKeys("block_count", 513), "the model has 513 layers, at most 512");
    row("no layers", withKeys("block_count", 0), "'llama.block_count' is 0, it must be at least 1");
    row("no heads", withKeys("attention.head_count", 0), "'llama.attention.head_count' is 0");
    row("no context", withKeys("context_length", 0), "'llama.context_length' is 0");
    row("no width", withKeys("embedding_length", 0), "'llama.embedding_length' is 0");
    row("no architecture", GgufWriter().number("x", 1).tensor("t", {1}, 0, 4).file(),
        "'general.architecture' is missing");
    row("no layer count", GgufWriter().text("general.architecture", "x").tensor("t", {1}, 0, 4).file(),
        "the key 'x.block_count' is missing");
    row("no tensors",
        GgufWriter()
            .text("general.architecture", "x")
            .number("x.block_count", 1)
            .number("x.embedding_length", 1)
            .number("x.context_length", 1)
            .file(),
        "no tensors");

    row("a dimension of 0", GgufWriter().tensor("w", {32, 0}, 0, 0).file(),
        "dimension 2 of the tensor 'w' is 0");
    row("too many dimensions", GgufWriter().tensor("w", {1, 1, 1, 1, 1}, 0, 4).file(), "has 5 dimensions");
    row("a size over all bounds", GgufWriter().tensor("w", {1ULL << 40, 1ULL << 40}, 0, 4).file(),
        "larger than any memory");
    row("a size over the file", GgufWriter().tensor("w", {1ULL << 40}, 0, 4).file(),
        "the file is cut off: the tensor 'w'");
    row("an unknown type", GgufWriter().tensor("w", {32}, 31, 4).file(), "the unknown type 31");
    row("half a block", GgufWriter().tensor("w", {33}, 2, 36).file(),
        "33 values, not a multiple of 32 as Q4_0 needs");
    row("a wrong place", GgufWriter().tensor("w", {32}, 0, 128, 32).file(),
        "said to lie at 32 of the data, expected 0");
    row("a name twice", GgufWriter().tensor("w", {8}, 0, 32).tensor("w", {8}, 0, 32).file(),
        "'w' appears twice");
    row("a key twice", GgufWriter().number("k", 1).number("k", 1).file(), "the key 'k' appears twice");
    row("an unknown value type", GgufWriter().entry("k", 99, "").file(), "'k' has the unknown type 99");
    row("an array of arrays",
        GgufWriter()
            .entry("k", 9, GgufWriter::bytes(std::uint32_t{9}) + GgufWriter::bytes(std::uint64_t{0}))
            .file(),
        "an array of arrays");
    row("a huge array",
        GgufWriter()
            .entry("k", 9, GgufWriter::bytes(std::uint32_t{10}) + GgufWriter::bytes(~std::uint64_t{0}))
            .file(),
        "more than the file can hold");
    row("a huge text", GgufWriter().entry("k", 8, GgufWriter::bytes(~std::uint64_t{0})).file(),
        "the limit is");
    row("a huge key",
        GgufWriter::bytes(std::uint32_t{0x46554747}) + GgufWriter::bytes(std::uint32_t{3})
            + GgufWriter::bytes(std::uint64_t{0}) + GgufWriter::bytes(std::uint64_t{1})
            + GgufWriter::bytes(~std::uint64_t{0} >> 1) + std::string(100, 'x'),
        "a key is 9223372036854775807 bytes long");
    for (const std::uint32_t alignment : {0U, 3U, 1U << 30U})
        row(qPrintable(QStringLiteral("alignment %1").arg(alignment)),
            GgufWriter().number("general.alignment", alignment).file(), "not a power of two");
}

void GgufTest::badFilesAreNamed()
{
    QFETCH(QByteArray, file);
    QFETCH(QString, message);
    const auto facts = parse(file.toStdString());
    QVERIFY(!facts.has_value());
    QVERIFY2(QString::fromStdString(facts.error()).contains(message), facts.error().c_str());
}

void GgufTest::aFileCutAnywhereIsRefused()
{
    const std::string whole = GgufWriter().model().file();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto facts = parse(whole.substr(0, length));
        QVERIFY2(!facts.has_value(), qPrintable(QString::number(length)));
    }
    QVERIFY(parse(whole).has_value());
}

void GgufTest::randomChangesNeverCrash()
{
    const std::string whole = GgufWriter().model().file();
    std::mt19937 random(11); // NOLINT: the same damage in every run
    int refused = 0;
    for (int i = 0; i < 2'000; ++i) {
        std::string damaged = whole;
        for (int change = 0; change < 1 + i % 4; ++change)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        refused += parse(damaged).has_value() ? 0 : 1;
    }
    QVERIFY(refused > 500);
    QVERIFY(refused < 2'000); // some bytes are names and weights
}

void GgufTest::realModelsAreRead_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("architecture");
    QTest::addColumn<int>("layers");
    QTest::addColumn<int>("heads");
    QTest::addColumn<bool>("chat");
    QTest::addColumn<bool>("embedding");
    QTest::newRow("chat") << "SmolLM2-135M-Instruct.Q4_1.gguf"
                          << "llama" << 30 << 9 << true << false;
    QTest::newRow("base") << "gemma-3-270m-q4_k_m.gguf"
                          << "gemma3" << 18 << 4 << false << false;
    QTest::newRow("embeddings") << "all-MiniLM-L6-v2-F16.gguf"
                                << "bert" << 6 << 12 << false << true;
}

void GgufTest::realModelsAreRead()
{
    QFETCH(QString, file);
    const std::string path = model(qPrintable(file));
    if (!QFile::exists(QString::fromStdString(path)))
        QSKIP("the model is not in SLIPWAY_MODELS_DIR");
    const auto facts = readGguf(path);
    QVERIFY2(facts.has_value(), facts ? "" : facts.error().message.c_str());
    QTEST(QString::fromStdString(facts->architecture), "architecture");
    QTEST(static_cast<int>(facts->layers), "layers");
    QTEST(static_cast<int>(facts->heads), "heads");
    QTEST(!facts->chatTemplate.empty(), "chat");
    QTEST(facts->isEmbeddingModel, "embedding");
    QVERIFY(facts->vocabularySize > 30'000);
    QVERIFY(facts->headerBytes + facts->tensorBytes <= facts->fileBytes + 32);
}

void GgufTest::aMissingFileAndAFolderAreNamed()
{
    const auto missing = readGguf("/nonexistent/model.gguf");
    QVERIFY(!missing.has_value() && missing.error().code == cluster::ErrorCode::NotFound);
    QVERIFY(missing.error().message.find("'/nonexistent/model.gguf'") != std::string::npos);
    const auto folder = readGguf("/tmp");
    QVERIFY(!folder.has_value() && folder.error().code == cluster::ErrorCode::InvalidArgument);
    QTemporaryDir directory;
    QFile file(directory.filePath(QStringLiteral("bad.gguf")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("GGUF\x63\0\0\0", 8);
    file.close();
    const auto bad = readGguf(file.fileName().toStdString());
    QVERIFY(!bad.has_value());
    QVERIFY2(bad.error().message.find(
                 "bad.gguf' is damaged or no GGUF model: version 99 is not supported (2 and 3 "
                 "are) (at byte 4)")
                 != std::string::npos,
             bad.error().message.c_str());
}

QTEST_APPLESS_MAIN(GgufTest)
#include "tst_gguf.moc"
