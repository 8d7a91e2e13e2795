#include "cluster/kube/discovery.h"

#include <QTest>
#include <nlohmann/json.hpp>

using namespace cluster;
using Json = nlohmann::json;

class TestManifests : public QObject
{
    Q_OBJECT

private slots:
    void plainWordsBecomeWhatKubectlMakesOfThem()
    {
        const auto documents = parseManifests("a: yes\n"
                                              "b: 'yes'\n"
                                              "c: 010\n"
                                              "d: 0x1f\n"
                                              "e: 1.5\n"
                                              "f: 1e3\n"
                                              "g: -3\n"
                                              "h:\n"
                                              "i: 1.34.1\n"
                                              "j: 100m\n"
                                              "k: \"8000\"\n"
                                              "l: !!str 12\n"
                                              "m: 12:30\n");
        QVERIFY(documents.has_value());
        const Json expected{{"a", true},   {"b", "yes"}, {"c", 8},       {"d", 31},       {"e", 1.5},
                            {"f", 1e3},    {"g", -3},    {"h", nullptr}, {"i", "1.34.1"}, {"j", "100m"},
                            {"k", "8000"}, {"l", "12"},  {"m", "12:30"}};
        QCOMPARE(QByteArray::fromStdString(documents->at(0).dump()),
                 QByteArray::fromStdString(expected.dump()));
    }

    void documentsAreSplitAndListsUnpacked()
    {
        const auto documents
            = parseManifests("# nothing\n---\nkind: A\n---\n---\n"
                             "{\"kind\":\"List\",\"items\":[{\"kind\":\"B\"},{\"kind\":\"C\"}]}\n");
        QVERIFY(documents.has_value());
        QCOMPARE(documents->size(), std::size_t{3});
        QVERIFY(documents->at(2)["kind"] == Json("C"));
    }

    void anchorsAndMergeKeysAreFollowed()
    {
        const auto documents = parseManifests("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n");
        QVERIFY((documents->at(0)["use"] == Json{{"x", 1}, {"y", 3}}));
    }

    void aliasesThatMultiplyAreRefused()
    {
        std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
        for (int i = 1; i < 9; ++i) {
            const std::string before = "*a" + std::to_string(i - 1);
            bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
            for (int j = 0; j < 10; ++j)
                bomb += (j ? "," : "") + before;
            bomb += "]\n";
        }
        QCOMPARE(parseManifests(bomb).error().code, ErrorCode::InvalidArgument);
    }

    void mistakesAreNamedByLine()
    {
        const auto broken = parseManifests("a: 1\nb: [1, 2\n");
        QCOMPARE(broken.error().code, ErrorCode::InvalidArgument);
        const auto twice = parseManifests("a: 1\nb: 2\na: 3\n");
        QVERIFY(twice.error().message.find("line 3") != std::string::npos);
        const auto scalar = parseManifests("just words\n");
        QCOMPARE(scalar.error().code, ErrorCode::InvalidArgument);
        // No document begins with a comma: the parser below would go on for ever.
        const auto comma = parseManifests("a: 1\n---\n, b");
        QCOMPARE(comma.error().code, ErrorCode::InvalidArgument);
        QVERIFY(comma.error().message.find("line 3") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestManifests)
#include "tst_manifests.moc"
