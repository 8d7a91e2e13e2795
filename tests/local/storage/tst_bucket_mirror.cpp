// Buckets as folders: what is new on one side comes to the other, and no name leads out.

#include "cluster/local/storage/bucket_folders.h"
#include "cluster/local/storage/bucket_mirror.h"
#include "tests/local/storage/memory_bucket.h"

#include <QTemporaryDir>
#include <QTest>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace cluster;
using namespace cluster::local;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return file ? text.str() : "(none)";
}

void write(const fs::path &path, const std::string &text)
{
    std::ofstream(path) << text;
}

/// A bucket and a folder of it.
struct Pair
{
    explicit Pair(MirrorOptions wanted = {"models", {{}, true}, false}, bool isHierarchical = false)
        : bucket(isHierarchical), options(std::move(wanted))
    {
        open();
    }
    void open() { mirror.emplace(*BucketMirror::open(bucket, options, root())); }
    [[nodiscard]] fs::path root() const { return folder.path().toStdString() + "/mirror"; }
    [[nodiscard]] fs::path data() const { return root() / "data"; }
    bool sync()
    {
        const Status done = mirror->sync();
        if (!done)
            qWarning("%s", done.error().message.c_str());
        return done.has_value();
    }
    [[nodiscard]] int entries() const
    {
        return static_cast<int>(std::distance(fs::recursive_directory_iterator(data()), {}));
    }

    QTemporaryDir folder;
    tests::MemoryBucket bucket;
    MirrorOptions options;
    std::optional<BucketMirror> mirror;
};

} // namespace

class TestBucketMirror : public QObject
{
    Q_OBJECT

private slots:
    void changesOfEitherSideComeToTheOther()
    {
        Pair pair;
        pair.bucket.put("a.txt", "first");
        pair.bucket.put("llama/config.json", "{}");
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a.txt"), std::string("first"));
        QCOMPARE(read(pair.data() / "llama/config.json"), std::string("{}"));
        QVERIFY(pair.mirror->isInStep());

        write(pair.data() / "out.txt", "written");
        fs::create_directory(pair.data() / "new");
        write(pair.data() / "new/inner", "deep");
        write(pair.data() / "a.txt", "second");
        pair.bucket.put("later", "by gcloud");
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("out.txt"), std::string("written"));
        QCOMPARE(pair.bucket.get("new/"), std::string());
        QCOMPARE(pair.bucket.get("new/inner"), std::string("deep"));
        QCOMPARE(pair.bucket.get("a.txt"), std::string("second"));
        QCOMPARE(read(pair.data() / "later"), std::string("by gcloud"));

        fs::remove_all(pair.data() / "new");
        pair.bucket.erase("later");
        pair.bucket.erase("llama/config.json");
        pair.bucket.put("a.txt", "third");
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("new/inner"), std::string("(none)"));
        QCOMPARE(pair.bucket.get("new/"), std::string("(none)"));
        QVERIFY(!fs::exists(pair.data() / "later"));
        QVERIFY(!fs::exists(pair.data() / "llama"));
        QCOMPARE(read(pair.data() / "a.txt"), std::string("third"));
        QCOMPARE(static_cast<int>(pair.bucket.size()), 2);
    }

    void aFileThatIsOpenIsNoObjectYet()
    {
        Pair pair;
        const int file = ::open((pair.data() / "open").c_str(), O_WRONLY | O_CREAT, 0644);
        QCOMPARE(::write(file, "half", 4), ssize_t{4});
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("open"), std::string("(none)"));
        QVERIFY(!pair.mirror->isInStep());
        QCOMPARE(::write(file, "+half", 5), ssize_t{5});
        ::close(file);
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("open"), std::string("half+half"));
        QVERIFY(pair.mirror->isInStep());
    }

    void whatWasDoneWhileNobodyLookedIsNotLost()
    {
        Pair pair;
        pair.bucket.put("kept", "1");
        pair.bucket.put("removed here", "1");
        pair.bucket.put("changed here", "1");
        QVERIFY(pair.sync());
        pair.mirror.reset();
        fs::remove(pair.data() / "removed here");
        write(pair.data() / "changed here", "22");
        write(pair.data() / "new", "3");
        pair.open();
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("kept"), std::string("1"));
        QCOMPARE(pair.bucket.get("removed here"), std::string("(none)"));
        QCOMPARE(pair.bucket.get("changed here"), std::string("22"));
        QCOMPARE(pair.bucket.get("new"), std::string("3"));
    }

    void aLostFolderOrRecordDeletesNothing()
    {
        Pair pair;
        pair.bucket.put("precious", "1");
        QVERIFY(pair.sync());
        pair.mirror.reset();
        fs::remove_all(pair.data());
        pair.open();
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("precious"), std::string("1"));
        QCOMPARE(read(pair.data() / "precious"), std::string("1"));
        pair.mirror.reset();
        for (const char *record :
             {"", "{", "[1]", R"({"folder":"1","known":[]})", R"({"folder":7,"known":7})"}) {
            write(pair.root() / "state.json", record);
            pair.open();
            QVERIFY(pair.sync());
            QCOMPARE(pair.bucket.get("precious"), std::string("1"));
        }
    }

    void noNameLeadsOut()
    {
        Pair pair;
        const std::string longPart(256, 'x'), manyParts = [] {
            std::string path = "d";
            while (path.size() < 2100)
                path += "/d";
            return path;
        }();
        for (const std::string &name :
             {std::string("../escaped"), std::string("/absolute"), std::string("a/../../escaped"),
              std::string("a//b"), std::string("./a"), std::string("a/."), std::string(".."),
              std::string("/"), std::string("nul\0nul", 7), longPart, "ok/" + longPart + "/x", manyParts,
              std::string("a/..")})
            pair.bucket.put(name, "bad");
        pair.bucket.put("good", "good");
        QVERIFY(pair.sync());
        QCOMPARE(pair.entries(), 1);
        QCOMPARE(read(pair.data() / "good"), std::string("good"));
        QVERIFY(!fs::exists(pair.root() / "escaped"));
        QVERIFY(pair.mirror->isInStep());
        QCOMPARE(static_cast<int>(pair.bucket.size()), 14); // and they are still objects
    }

    void noLinkLeadsOut()
    {
        Pair pair;
        const fs::path outside = pair.folder.path().toStdString() + "/outside";
        fs::create_directory(outside);
        write(outside / "secret", "secret");
        fs::create_directory_symlink(outside, pair.data() / "link");
        fs::create_symlink(outside / "secret", pair.data() / "file");
        ::mkfifo((pair.data() / "pipe").c_str(), 0600);
        pair.bucket.put("link/planted", "bad");
        pair.bucket.put("file", "bad");
        (void)pair.mirror->sync();
        (void)pair.mirror->sync();
        QVERIFY(!fs::exists(outside / "planted"));
        QCOMPARE(read(outside / "secret"), std::string("secret"));
        QCOMPARE(pair.bucket.get("link/secret"), std::string("(none)"));
        QCOMPARE(pair.bucket.get("file"), std::string("bad"));
        QCOMPARE(static_cast<int>(pair.bucket.size()), 2);
    }

    void aNameOfAFileAndAFolderIsShownAsBoth()
    {
        Pair pair;
        pair.bucket.put("a", "file");
        pair.bucket.put("a/b", "inner");
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a/b"), std::string("inner"));
        QCOMPARE(read(pair.data() / "a\n"), std::string("file"));
        write(pair.data() / "a\n", "changed");
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("a"), std::string("changed"));
        pair.bucket.erase("a/b");
        QVERIFY(pair.sync());
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a"), std::string("changed"));
        QCOMPARE(pair.entries(), 1);
        QCOMPARE(pair.bucket.get("a"), std::string("changed"));
    }

    void foldersNeedAnObjectUnlessTheyAreImplied()
    {
        Pair pair({"models", {{}, false}, false});
        pair.bucket.put("hidden/a", "1");
        pair.bucket.put("shown/", "");
        pair.bucket.put("shown/b", "2");
        QVERIFY(pair.sync());
        QVERIFY(!fs::exists(pair.data() / "hidden"));
        QCOMPARE(read(pair.data() / "shown/b"), std::string("2"));
        QCOMPARE(pair.bucket.get("hidden/a"), std::string("1"));
        Pair of({"models", {"llama/7b/", true}, false});
        of.bucket.put("llama/7b/w", "weights");
        of.bucket.put("llama/70b/w", "others");
        QVERIFY(of.sync());
        QCOMPARE(read(of.data() / "w"), std::string("weights"));
        QCOMPARE(of.entries(), 1);
        write(of.data() / "log", "text");
        QVERIFY(of.sync());
        QCOMPARE(of.bucket.get("llama/7b/log"), std::string("text"));
    }

    void hierarchicalBucketsHaveRealFolders()
    {
        Pair pair({"models", {{}, false}, false}, true);
        pair.bucket.put("a/b", "1");
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a/b"), std::string("1"));
        fs::create_directory(pair.data() / "empty");
        QVERIFY(pair.sync());
        QVERIFY(pair.bucket.hasFolder("empty/"));
        QCOMPARE(pair.bucket.get("empty/"), std::string("(none)"));
        fs::remove(pair.data() / "empty");
        QVERIFY(pair.sync());
        QVERIFY(!pair.bucket.hasFolder("empty/"));
    }

    void aReadOnlyFolderIsPutRight()
    {
        Pair pair({"models", {{}, true}, true});
        pair.bucket.put("a", "1");
        QVERIFY(pair.sync());
        fs::permissions(pair.data() / "a", fs::perms::owner_all);
        write(pair.data() / "a", "spoilt");
        write(pair.data() / "own", "mine");
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a"), std::string("1"));
        QVERIFY(!fs::exists(pair.data() / "own"));
        fs::remove(pair.data() / "a");
        QVERIFY(pair.sync());
        QCOMPARE(read(pair.data() / "a"), std::string("1"));
        QCOMPARE(static_cast<int>(pair.bucket.size()), 1);
    }

    void aFullDiskIsToldAndGotOver()
    {
        Pair pair;
        write(pair.data() / "a", "1");
        pair.bucket.setFull(true);
        const Status full = pair.mirror->sync();
        QVERIFY(!full && full.error().code == ErrorCode::ResourceExhausted);
        QVERIFY(!pair.mirror->isInStep());
        pair.bucket.setFull(false);
        write(pair.data() / "a", "22"); // changed: tried at once
        QVERIFY(pair.sync());
        QCOMPARE(pair.bucket.get("a"), std::string("22"));
    }

    void foldersAreSharedAndGoWhenNobodyUsesThem()
    {
        QTemporaryDir folder;
        tests::MemoryBucket bucket;
        bucket.put("a", "1");
        bool isOn = false;
        BucketFoldersOptions options{
            folder.path().toStdString(), [&] { return isOn; }, std::chrono::milliseconds(10), {}};
        std::optional<BucketFolders> folders(std::in_place, bucket, options);
        const BucketVolume volume{"models", {"implicit-dirs"}, false};
        const auto refused = folders->mount(volume, "pod1");
        QVERIFY(!refused && refused.error().message.find("driver name gcsfuse.csi") != std::string::npos);
        isOn = true;
        const auto missing = folders->mount({"nothing", {}, false}, "pod1");
        QVERIFY(!missing && missing.error().message.find("bucket doesn't exist") != std::string::npos);
        for (const char *name : {"../x", "UPPER", "", "_", "a/b"})
            QVERIFY(!folders->mount({name, {}, false}, "pod1"));
        QVERIFY(!folders->mount({"models", {"only-dir=../x"}, false}, "pod1"));

        const auto first = folders->mount(volume, "pod1"), second = folders->mount(volume, "pod2");
        QVERIFY(first && second && *first == *second);
        write(*first / "b", "2");
        QVERIFY(folders->flush("pod1"));
        QCOMPARE(bucket.get("b"), std::string("2"));
        write(*first / "c", "3"); // seen by the thread
        QTRY_COMPARE(bucket.get("c"), std::string("3"));
        bucket.put("d", "4");
        QTRY_COMPARE(read(*first / "d"), std::string("4"));
        folders->release("pod1");
        write(*first / "e", "5");
        folders.reset(); // killed before it was seen, with pod2's last words
        folders.emplace(bucket, options);
        QTRY_COMPARE(bucket.get("e"), std::string("5"));
        QTRY_VERIFY(!fs::exists(*first));
        QCOMPARE(static_cast<int>(bucket.size()), 5);
    }
};

QTEST_GUILESS_MAIN(TestBucketMirror)
#include "tst_bucket_mirror.moc"
