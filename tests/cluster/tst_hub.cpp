#include "cluster/modelstore/hub.h"
#include "cluster/modelstore/new_file.h"
#include "cluster/modelstore/sha256.h"
#include "cluster/net/http_client.h"
#include "tests/support/loopback_server.h"

#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <sys/resource.h>

using namespace cluster;
namespace fs = std::filesystem;
using tests::Exchange;
using tests::LoopbackServer;

namespace {

const std::string secret = "hf_very_secret";

std::string content()
{
    std::string text = "GGUF";
    for (int i = 0; i < 40000; ++i)
        text += std::to_string(i);
    return text;
}

std::string hashOf(const std::string &text)
{
    Sha256 hash;
    hash.add(text);
    return hash.hex();
}

/// A small hub: one repository with one GGUF file, and the faults a test asks for.
struct FakeHub
{
    std::string text = content();
    std::string statedHash = hashOf(text);
    std::string files; ///< of the tree; by default one
    int refusal = 0; ///< status for everything
    std::string errorCode;
    std::atomic<int> cuts = 0; ///< how many downloads still break in their middle
    bool ignoresRange = false;

    void answer(Exchange &exchange)
    {
        const std::string &target = exchange.request().target;
        if (refusal != 0) {
            exchange.respond(refusal, "application/json", "{}", {{"X-Error-Code", errorCode}});
        } else if (target == "/api/models/o/m/revision/main") {
            exchange.respond(200, "application/json", R"({"sha":"c0ffee","cardData":{"license":"mit"}})");
        } else if (target == "/api/models/o/m/tree/c0ffee?recursive=true") {
            const std::string one = R"({"type":"file","path":"sub/m.Q4_K_M.gguf","size":1,"lfs":{"oid":")"
                + statedHash + R"(","size":)" + std::to_string(text.size()) + "}}";
            exchange.respond(
                200, "application/json",
                "[" + (files.empty() ? one : files)
                    + R"(,{"type":"file","path":"README.md"},{"type":"directory","path":"x.gguf"}])");
        } else if (target == "/o/m/resolve/c0ffee/sub/m.Q4_K_M.gguf") {
            exchange.respond(302, "text/plain", "", {{"Location", "/cdn/m"}});
        } else if (target == "/cdn/m") {
            answerFile(exchange);
        } else {
            exchange.respond(404, "application/json", "{}");
        }
    }

private:
    void answerFile(Exchange &exchange)
    {
        std::size_t offset = 0;
        const auto range = exchange.request().headers.find("range");
        if (range != exchange.request().headers.end() && !ignoresRange)
            offset = std::stoul(range->second.substr(6));
        const std::string rest = text.substr(std::min(offset, text.size()));
        std::string head = offset > 0
            ? "HTTP/1.1 206 Partial\r\nContent-Range: bytes " + std::to_string(offset) + "-"
                + std::to_string(text.size() - 1) + "/" + std::to_string(text.size()) + "\r\n"
            : "HTTP/1.1 200 OK\r\n";
        head += "Content-Length: " + std::to_string(rest.size()) + "\r\n\r\n";
        const bool isCut = cuts-- > 0;
        exchange.write(head + (isCut ? rest.substr(0, rest.size() / 2) : rest));
    }
};

} // namespace

class TestHub : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void parsesReferences_data();
    void parsesReferences();
    void pullsAndRemembers();
    void goesOnInTheMiddle_data();
    void goesOnInTheMiddle();
    void goesOnBehindWhatAnEarlierPullLeft();
    void keepsNothingOfAWrongFile();
    void saysWhatIsInTheWay_data();
    void saysWhatIsInTheWay();
    void choosesAmongSeveralFiles_data();
    void choosesAmongSeveralFiles();
    void aFullDiskLeavesNothingBehind();

private:
    Result<StoredModel> pull(FakeHub &hub, const std::string &token = "", const PullOptions &options = {});
    fs::path target() const { return m_folder / "hf" / "o--m" / "sub-m.Q4_K_M.gguf"; }

    std::optional<QTemporaryDir> m_dir;
    fs::path m_folder;
    std::vector<tests::ReceivedRequest> m_requests;
};

void TestHub::init()
{
    m_dir.emplace();
    m_folder = m_dir->path().toStdString();
}

Result<StoredModel> TestHub::pull(FakeHub &hub, const std::string &token, const PullOptions &options)
{
    LoopbackServer server([&](Exchange &exchange) { hub.answer(exchange); });
    HttpClient http;
    ModelStore store(m_folder, ModelCatalogue::parse("models: []").value());
    auto model = store.pull("hf:o/m", http, {server.url(), token}, options);
    m_requests = server.requests();
    if (!model)
        [&] { QVERIFY(model.error().message.find(secret) == std::string::npos); }();
    return model;
}

void TestHub::parsesReferences_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    QTest::newRow("plain") << "hf:o/m"
                           << "o m main ";
    QTest::newRow("file") << "hf:o/m-GGUF:a/b.gguf"
                          << "o m-GGUF main a/b.gguf";
    QTest::newRow("revision and wish") << "hf:o/m@v1:Q8_0"
                                       << "o m v1 Q8_0";
    QTest::newRow("no owner") << "hf:m"
                              << "";
    QTest::newRow("three parts") << "hf:a/b/c"
                                 << "";
    QTest::newRow("upwards") << "hf:../m"
                             << "";
    QTest::newRow("query") << "hf:o/m?x=1"
                           << "";
    QTest::newRow("empty") << "hf:"
                           << "";
}

void TestHub::parsesReferences()
{
    QFETCH(QString, text);
    QFETCH(QString, expected);
    const auto reference = parseHubReference(text.toStdString());
    const std::string found = reference
        ? reference->owner + " " + reference->repository + " " + reference->revision + " " + reference->wanted
        : "";
    QCOMPARE(QString::fromStdString(found), expected);
}

void TestHub::pullsAndRemembers()
{
    FakeHub hub;
    const auto model = pull(hub, secret);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->name, std::string("o-m.Q4_K_M"));
    QCOMPARE(model->licence, std::string("mit"));
    QCOMPARE(model->source, std::string("hf:o/m@c0ffee:sub/m.Q4_K_M.gguf"));
    QCOMPARE(sha256OfFile(target()).value(), hub.statedHash);
    QCOMPARE(m_requests.at(0).headers.at("authorization"), "Bearer " + secret);
    ModelStore store(m_folder, ModelCatalogue::parse("models: []").value());
    QCOMPARE(store.find("o-m.Q4_K_M")->sha256, hub.statedHash);
    QVERIFY(store.verify("o-m.Q4_K_M").has_value());
    // A second pull reads the list, but not the file.
    QVERIFY(pull(hub).has_value());
    QCOMPARE(m_requests.size(), std::size_t{2});
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(m_folder)) {
        if (!entry.is_regular_file())
            continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        QVERIFY(text.find(secret) == std::string::npos);
    }
    QVERIFY(store.remove("o-m.Q4_K_M").has_value());
    QVERIFY(!fs::exists(target()));
}

void TestHub::goesOnInTheMiddle_data()
{
    QTest::addColumn<bool>("ignoresRange");
    QTest::addColumn<int>("cuts");
    QTest::newRow("one cut") << false << 1;
    QTest::newRow("three cuts") << false << 3;
    QTest::newRow("a server without ranges") << true << 1;
}

void TestHub::goesOnInTheMiddle()
{
    QFETCH(bool, ignoresRange);
    QFETCH(int, cuts);
    FakeHub hub;
    hub.cuts = cuts;
    hub.ignoresRange = ignoresRange;
    const auto model = pull(hub);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(sha256OfFile(target()).value(), hub.statedHash);
    QCOMPARE(m_requests.back().headers.count("range"), std::size_t{1});
}

void TestHub::goesOnBehindWhatAnEarlierPullLeft()
{
    FakeHub hub;
    fs::create_directories(target().parent_path());
    std::ofstream(partPathOf(target()), std::ios::binary) << hub.text.substr(0, 1000);
    QVERIFY(pull(hub).has_value());
    QCOMPARE(m_requests.back().headers.at("range"), std::string("bytes=1000-"));
    QCOMPARE(sha256OfFile(target()).value(), hub.statedHash);
}

void TestHub::keepsNothingOfAWrongFile()
{
    FakeHub hub;
    hub.statedHash = hashOf("other");
    const auto model = pull(hub);
    QVERIFY(!model && model.error().code == ErrorCode::DataLoss);
    QVERIFY(!fs::exists(target()));
    QVERIFY(!fs::exists(partPathOf(target())));
}

void TestHub::saysWhatIsInTheWay_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("errorCode");
    QTest::addColumn<bool>("hasToken");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");
    const int denied = static_cast<int>(ErrorCode::PermissionDenied);
    const int missing = static_cast<int>(ErrorCode::NotFound);
    QTest::newRow("gated, no token") << 401 << "GatedRepo" << false << denied << "accept its licence at";
    QTest::newRow("gated, not accepted") << 403 << "GatedRepo" << true << denied << "has not passed";
    QTest::newRow("403 without a code") << 403 << "" << true << denied << "accept its licence at";
    QTest::newRow("token refused") << 401 << "" << true << static_cast<int>(ErrorCode::Unauthenticated)
                                   << "does not accept your access token";
    QTest::newRow("no such repository") << 404 << "RepoNotFound" << true << missing << "no repository o/m";
    QTest::newRow("no such repository, no token")
        << 401 << "RepoNotFound" << false << missing << "no repository o/m";
    QTest::newRow("no such revision")
        << 404 << "RevisionNotFound" << false << missing << "no such file or revision";
    QTest::newRow("busy") << 429 << "" << false << static_cast<int>(ErrorCode::Unavailable)
                          << "try again later";
}

void TestHub::saysWhatIsInTheWay()
{
    QFETCH(int, status);
    QFETCH(QString, errorCode);
    QFETCH(bool, hasToken);
    QFETCH(int, code);
    QFETCH(QString, message);
    FakeHub hub;
    hub.refusal = status;
    hub.errorCode = errorCode.toStdString();
    const auto model = pull(hub, hasToken ? secret : "");
    QVERIFY(!model.has_value());
    QVERIFY2(QString::fromStdString(model.error().message).contains(message), model.error().message.c_str());
    QCOMPARE(static_cast<int>(model.error().code), code);
}

void TestHub::choosesAmongSeveralFiles_data()
{
    QTest::addColumn<QString>("files");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("expected");
    QTest::newRow("the usual quantisation") << "a-Q8_0.gguf a-Q4_K_M.gguf"
                                            << ""
                                            << "a-Q4_K_M.gguf";
    QTest::newRow("by quantisation") << "a-Q8_0.gguf a-Q4_K_M.gguf"
                                     << "q8_0"
                                     << "a-Q8_0.gguf";
    QTest::newRow("by name") << "a.gguf aa.gguf"
                             << "a.gguf"
                             << "a.gguf";
    QTest::newRow("projectors do not count") << "a-Q8_0.gguf mmproj-a.gguf"
                                             << ""
                                             << "a-Q8_0.gguf";
    QTest::newRow("several fit") << "a-Q8_0.gguf b-Q8_0.gguf"
                                 << "q8_0"
                                 << "!name one";
    QTest::newRow("none fits") << "a-Q8_0.gguf b-Q8_0.gguf"
                               << ""
                               << "!name one";
    QTest::newRow("in pieces") << "a-00001-of-00002.gguf a-00002-of-00002.gguf"
                               << "a-0"
                               << "!several files";
    QTest::newRow("no GGUF") << "model.safetensors"
                             << ""
                             << "!no GGUF file";
}

void TestHub::choosesAmongSeveralFiles()
{
    QFETCH(QString, files);
    QFETCH(QString, wanted);
    QFETCH(QString, expected);
    FakeHub hub;
    for (const QString &name : files.split(' '))
        hub.files += (hub.files.empty() ? "" : ",")
            + ("{\"type\":\"file\",\"path\":\"" + name.toStdString() + "\",\"size\":5}");
    LoopbackServer server([&](Exchange &exchange) { hub.answer(exchange); });
    HttpClient http;
    const HubAccess access{server.url(), ""};
    HubReference reference{"o", "m", "main", wanted.toStdString()};
    const auto file = HubClient(http, access, {}).choose(reference);
    if (expected.startsWith('!')) {
        QVERIFY(!file.has_value());
        QVERIFY2(QString::fromStdString(file.error().message).contains(expected.mid(1)),
                 file.error().message.c_str());
    } else {
        QVERIFY2(file.has_value(), file ? "" : file.error().message.c_str());
        QCOMPARE(QString::fromStdString(file->path), expected);
    }
}

void TestHub::aFullDiskLeavesNothingBehind()
{
    FakeHub hub;
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{50000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto model = pull(hub);
    ::setrlimit(RLIMIT_FSIZE, &before);
    QVERIFY(!model.has_value());
    QVERIFY2(model.error().code == ErrorCode::ResourceExhausted, model.error().message.c_str());
    QVERIFY(!fs::exists(target()));
    QVERIFY(!fs::exists(partPathOf(target())));
}

QTEST_GUILESS_MAIN(TestHub)
#include "tst_hub.moc"
