#include "cluster/modelstore/bert_to_gguf.h"
#include "cluster/modelstore/safetensors.h"

#include <QTest>
#include <bit>
#include <cstring>

using namespace cluster;

namespace {

std::string safetensors(const std::string &header, const std::string &data)
{
    std::string file;
    for (int i = 0; i < 8; ++i)
        file += static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
    return file + header + data;
}

std::string bytesOf(const std::vector<float> &values)
{
    std::string bytes(values.size() * 4, '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

BertModelFiles tinyModel()
{
    BertModelFiles files;
    files.config
        = R"({"num_hidden_layers":1,"max_position_embeddings":4,"hidden_size":2,"intermediate_size":2,
        "num_attention_heads":1,"layer_norm_eps":1e-12,"type_vocab_size":2,"vocab_size":7})";
    files.vocabulary = "[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n##ing";
    files.weights = safetensors(
        R"({"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"encoder.layer.0.output.dense.bias":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},"pooler.dense.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"embeddings.position_ids":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})",
        bytesOf({1, -2, 3, 0.5F}));
    return files;
}

Result<std::string> converted(const BertModelFiles &files)
{
    std::string out;
    const Status status = writeBertAsGguf(files, "tiny", "mit", [&](std::string_view bytes) -> Status {
        out += bytes;
        return {};
    });
    if (!status)
        return tl::unexpected(status.error());
    return out;
}

} // namespace

class TestBertToGguf : public QObject
{
    Q_OBJECT

private slots:
    void roundsToHalfAsIeeeSays_data();
    void roundsToHalfAsIeeeSays();
    void everyHalfSurvivesBothWays();
    void writesAModel();
    void refusesWhatDoesNotFit_data();
    void refusesWhatDoesNotFit();
};

void TestBertToGguf::roundsToHalfAsIeeeSays_data()
{
    QTest::addColumn<quint32>("single");
    QTest::addColumn<quint16>("half");
    QTest::newRow("zero") << 0x00000000U << quint16(0x0000);
    QTest::newRow("minus zero") << 0x80000000U << quint16(0x8000);
    QTest::newRow("one") << 0x3F800000U << quint16(0x3C00);
    QTest::newRow("tie goes to even, down") << 0x3F801000U << quint16(0x3C00);
    QTest::newRow("tie goes to even, up") << 0x3F803000U << quint16(0x3C02);
    QTest::newRow("over a tie") << 0x3F801001U << quint16(0x3C01);
    QTest::newRow("largest") << 0x477FE000U << quint16(0x7BFF);
    QTest::newRow("just below infinity") << 0x477FEFFFU << quint16(0x7BFF);
    QTest::newRow("rounds to infinity") << 0x477FF000U << quint16(0x7C00);
    QTest::newRow("minus infinity") << 0xFF800000U << quint16(0xFC00);
    QTest::newRow("smallest normal") << 0x38800000U << quint16(0x0400);
    QTest::newRow("rounds up to the smallest normal") << 0x387FFFFFU << quint16(0x0400);
    QTest::newRow("smallest subnormal") << 0x33800000U << quint16(0x0001);
    QTest::newRow("half of it goes to zero") << 0x33000000U << quint16(0x0000);
    QTest::newRow("over half of it") << 0x33000001U << quint16(0x0001);
    QTest::newRow("far too small") << 0x00000001U << quint16(0x0000);
}

void TestBertToGguf::roundsToHalfAsIeeeSays()
{
    QFETCH(quint32, single);
    QFETCH(quint16, half);
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &single, 4);
    SafeTensor tensor;
    tensor.bytes = bytes;
    quint16 found = 0;
    std::memcpy(&found, asFloat16(tensor).data(), 2);
    QCOMPARE(found, half);
}

void TestBertToGguf::everyHalfSurvivesBothWays()
{
    std::string halves(std::size_t{2} * 65536, '\0');
    for (quint32 i = 0; i < 65536; ++i) {
        const auto half = static_cast<quint16>(i);
        std::memcpy(halves.data() + 2 * i, &half, 2);
    }
    SafeTensor half;
    half.isHalf = true;
    half.bytes = halves;
    const std::string singles = asFloat32(half);
    SafeTensor single;
    single.bytes = singles;
    const std::string back = asFloat16(single);
    for (quint32 i = 0; i < 65536; ++i) {
        const bool isNan = (i & 0x7C00U) == 0x7C00U && (i & 0x3FFU) != 0;
        if (!isNan) // a NaN stays one, which is enough
            QVERIFY2(std::memcmp(back.data() + 2 * i, halves.data() + 2 * i, 2) == 0,
                     qPrintable(QString::number(i, 16)));
    }
}

void TestBertToGguf::writesAModel()
{
    const auto file = converted(tinyModel());
    QVERIFY2(file.has_value(), file ? "" : file.error().message.c_str());
    QVERIFY(file->starts_with(
        std::string("GGUF\3\0\0\0\2\0\0\0\0\0\0\0\x19\0\0\0\0\0\0\0", 24))); // 2 tensors, 25 keys
    QVERIFY(file->find("token_embd.weight") != std::string::npos);
    QVERIFY(file->find("blk.0.ffn_down.bias") != std::string::npos);
    QVERIFY(file->find("pooler") == std::string::npos);
    // The matrix in F16, filled up to 32 bytes, then the bias in F32, likewise.
    const std::string data = file->substr(file->size() - 64);
    QVERIFY(data.substr(0, 4) == std::string("\x00\x3C\x00\xC0", 4));
    QVERIFY(data.substr(4, 28) == std::string(28, '\0'));
    QVERIFY(data.substr(32, 8) == bytesOf({3, 0.5F}));
    QCOMPARE(file->size() % 32, std::size_t{0});
}

void TestBertToGguf::refusesWhatDoesNotFit_data()
{
    QTest::addColumn<QByteArray>("weights");
    QTest::addColumn<QString>("message");
    const auto file = [](const char *header) {
        const std::string text = safetensors(header, "12345678");
        return QByteArray(text.data(), static_cast<qsizetype>(text.size()));
    };
    QTest::newRow("empty") << QByteArray() << "shorter than its header";
    QTest::newRow("header longer than the file")
        << QByteArray("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F{}") << "longer than the file";
    QTest::newRow("no JSON") << file("{") << "not a JSON object";
    QTest::newRow("outside of the file")
        << file(R"({"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})")
        << "outside";
    QTest::newRow("backwards") << file(
        R"({"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})")
                               << "outside";
    QTest::newRow("shape does not fit")
        << file(R"({"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})")
        << "does not fit its shape";
    QTest::newRow("shape overflows") << file(
        R"({"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]}})")
                                     << "larger than the file";
    QTest::newRow("other type") << file(
        R"({"embeddings.word_embeddings.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})")
                                << "BF16";
    QTest::newRow("field missing") << file(R"({"embeddings.word_embeddings.weight":{"dtype":"F32"}})")
                                   << "can't be read";
    QTest::newRow("tensor of another model")
        << file(R"({"lm_head.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") << "lm_head.weight";
}

void TestBertToGguf::refusesWhatDoesNotFit()
{
    QFETCH(QByteArray, weights);
    QFETCH(QString, message);
    BertModelFiles files = tinyModel();
    files.weights = weights.toStdString();
    const auto file = converted(files);
    QVERIFY(!file.has_value());
    QVERIFY2(QString::fromStdString(file.error().message).contains(message), file.error().message.c_str());
}

QTEST_APPLESS_MAIN(TestBertToGguf)
#include "tst_bert_to_gguf.moc"
