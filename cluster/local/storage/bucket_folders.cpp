#include "cluster/local/storage/bucket_folders.h"

#include "cluster/local/storage/bucket_mirror.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *driver = "gcsfuse.csi.storage.gke.io";

bool isBucketName(const std::string &name)
{
    const auto isAllowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    return name.size() >= 3 && name.size() <= 222 && name.front() != '.' && name.front() != '_'
        && std::all_of(name.begin(), name.end(), isAllowed);
}

Result<MirrorOptions> mirrorOptions(const BucketVolume &volume)
{
    MirrorOptions options;
    options.bucket = volume.bucket;
    options.isReadOnly = volume.isReadOnly;
    for (std::string option : volume.mountOptions) {
        std::erase(option, ' ');
        if (option == "implicit-dirs" || option == "implicit-dirs=true")
            options.tree.impliesFolders = true;
        else if (option == "ro")
            options.isReadOnly = true;
        else if (option.starts_with("only-dir=") || option.starts_with("only-dir:"))
            options.tree.prefix = option.substr(9);
    }
    std::string &prefix = options.tree.prefix;
    while (prefix.ends_with('/'))
        prefix.pop_back();
    if (volume.bucket == "_")
        return fail(
            ErrorCode::Unimplemented,
            "rpc error: code = Unimplemented desc = all buckets at once (\"_\") are not played on this "
            "machine: name one");
    if (!isBucketName(volume.bucket) || (!prefix.empty() && !isTreePath(prefix)))
        return fail(ErrorCode::InvalidArgument,
                    "rpc error: code = InvalidArgument desc = no valid bucket name and folder: \""
                        + volume.bucket + "\" \"" + prefix + "\"");
    if (!prefix.empty())
        prefix += '/';
    return options;
}

/// Names the folder of a mirror: of the bucket's name, and a number of all that makes it another mirror.
std::string keyOf(const MirrorOptions &options)
{
    const std::string text = options.tree.prefix + '\n' + (options.tree.impliesFolders ? "i" : "")
        + (options.isReadOnly ? "r" : "");
    std::uint64_t number = 14695981039346656037ULL; // FNV-1a
    for (const char c : text)
        number = (number ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    char suffix[20];
    std::snprintf(suffix, sizeof suffix, "-%016llx", static_cast<unsigned long long>(number));
    return options.bucket + suffix;
}

/// The driver's words for what the bucket's side said.
Error driverError(const std::string &bucket, const Error &error)
{
    if (error.code == ErrorCode::NotFound)
        return {error.code,
                "rpc error: code = NotFound desc = failed to get GCS bucket \"" + bucket
                    + "\": storage: bucket doesn't exist"};
    if (error.code == ErrorCode::PermissionDenied)
        return {error.code,
                "rpc error: code = PermissionDenied desc = failed to get GCS bucket \"" + bucket
                    + "\": googleapi: Error 403: " + error.message + ", forbidden"};
    if (error.code
        == ErrorCode::Unauthenticated) // the driver tries for a while to get a token, and says this
        return {error.code,
                "rpc error: code = Unauthenticated desc = failed to prepare storage service: storage service "
                "manager failed to setup service: timed out waiting for the condition"};
    if (error.code == ErrorCode::FailedPrecondition)
        return {error.code, "rpc error: code = FailedPrecondition desc = " + error.message};
    const bool isFull = error.code == ErrorCode::ResourceExhausted;
    return {error.code,
            std::string("rpc error: code = ") + (isFull ? "ResourceExhausted" : "Internal")
                + " desc = bucket \"" + bucket + "\": " + error.message};
}

struct SharedMirror
{
    SharedMirror(BucketMirror opened, fs::path path) : mirror(std::move(opened)), folder(std::move(path)) {}

    std::mutex turn; ///< of sync()
    BucketMirror mirror;
    fs::path folder;
    std::set<std::string> users; ///< pods' uids
    std::string trouble; ///< last told
    bool hasSynced = false, isBucketGone = false;
};

using MirrorPointer = std::shared_ptr<SharedMirror>;

} // namespace

class BucketFolders::Private
{
public:
    Private(BucketObjects &bucketObjects, BucketFoldersOptions given)
        : objects(bucketObjects), options(std::move(given)),
          keeper([this](const std::stop_token &stop) { keep(stop); })
    {
    }

    void keep(const std::stop_token &stop);
    void takeOnLeftovers();
    /// \param uid  Its new user; empty: none. \param isNew  Set where it wasn't one before.
    Result<MirrorPointer> mirrorOf(const MirrorOptions &wanted, const std::string &uid, bool &isNew);
    Status sync(SharedMirror &shared);
    Status mayList(const std::string &bucket, const std::string &uid);
    std::vector<MirrorPointer> of(const std::string &uid);
    void dropUnused();

    BucketObjects &objects;
    BucketFoldersOptions options;
    std::mutex mutex; ///< of what follows, and of all users
    std::condition_variable_any changed;
    std::map<std::string, MirrorPointer> mirrors; ///< by keyOf()
    std::map<std::string, std::set<std::string>> allowed; ///< buckets by the uids of pods
    std::jthread keeper; // last
};

Status BucketFolders::Private::sync(SharedMirror &shared)
{
    const std::scoped_lock lock(shared.turn);
    const Status done = shared.mirror.sync();
    shared.hasSynced = true;
    shared.isBucketGone = !done && done.error().code == ErrorCode::NotFound;
    const std::string trouble = done ? std::string() : done.error().message;
    if (trouble != shared.trouble && !trouble.empty() && options.log)
        options.log("bucket " + shared.mirror.options().bucket + ": " + trouble);
    shared.trouble = trouble;
    return done;
}

Result<MirrorPointer> BucketFolders::Private::mirrorOf(const MirrorOptions &wanted, const std::string &uid,
                                                       bool &isNew)
{
    const std::string key = keyOf(wanted);
    const std::scoped_lock lock(mutex);
    if (const auto found = mirrors.find(key); found != mirrors.end()) {
        isNew = !uid.empty() && found->second->users.insert(uid).second;
        return found->second;
    }
    const fs::path folder = options.folder / key;
    auto opened = BucketMirror::open(objects, wanted, folder);
    if (!opened)
        return tl::unexpected(opened.error());
    // What the next process needs to know, in case that this one is killed.
    const json record{{"bucket", wanted.bucket},
                      {"prefix", wanted.tree.prefix},
                      {"implies", wanted.tree.impliesFolders},
                      {"readOnly", wanted.isReadOnly}};
    std::ofstream(folder / "mirror.json") << record.dump();
    auto mirror = std::make_shared<SharedMirror>(std::move(*opened), folder);
    isNew = !uid.empty() && mirror->users.insert(uid).second;
    mirrors[key] = mirror;
    return mirror;
}

/// Asked until it has been said once: as the driver, which then lets a mount be.
Status BucketFolders::Private::mayList(const std::string &bucket, const std::string &uid)
{
    if (!options.mayList)
        return {};
    {
        const std::scoped_lock lock(mutex);
        if (const auto found = allowed.find(uid); found != allowed.end() && found->second.contains(bucket))
            return {};
    }
    const Status may = options.mayList(bucket, uid);
    if (!may && options.log)
        options.log("bucket " + bucket + " is not mounted: " + may.error().message);
    const std::scoped_lock lock(mutex);
    if (may)
        allowed[uid].insert(bucket);
    return may;
}

/// What pods had written when the last process was killed becomes objects now.
void BucketFolders::Private::takeOnLeftovers()
{
    std::error_code error;
    fs::remove_all(options.folder / ".gone", error);
    for (const fs::directory_entry &entry : fs::directory_iterator(options.folder, error)) {
        std::ifstream file(entry.path() / "mirror.json");
        std::stringstream text;
        text << file.rdbuf();
        const json record = json::parse(text.str(), nullptr, false);
        if (!record.is_object()) {
            fs::remove_all(entry.path(), error);
            continue;
        }
        MirrorOptions known;
        known.bucket = record.value("bucket", "");
        known.tree = {record.value("prefix", ""), record.value("implies", false)};
        known.isReadOnly = record.value("readOnly", false);
        bool isNew = false;
        if (isBucketName(known.bucket) && keyOf(known) == entry.path().filename())
            (void)mirrorOf(known, {}, isNew);
    }
}

std::vector<MirrorPointer> BucketFolders::Private::of(const std::string &uid)
{
    const std::scoped_lock lock(mutex);
    std::vector<MirrorPointer> used;
    for (const auto &[key, mirror] : mirrors) {
        if (mirror->users.contains(uid))
            used.push_back(mirror);
    }
    return used;
}

/// Mirrors without users whose last turn left nothing to do, or whose bucket has gone.
void BucketFolders::Private::dropUnused()
{
    std::vector<MirrorPointer> unused;
    const fs::path gone = options.folder / ".gone"; // moved there at once, so that nobody waits meanwhile
    std::error_code error;
    std::unique_lock lock(mutex);
    for (auto entry = mirrors.begin(); entry != mirrors.end();) {
        SharedMirror &shared = *entry->second;
        const std::unique_lock turn(shared.turn, std::try_to_lock);
        const bool goes = turn.owns_lock() && shared.users.empty() && shared.hasSynced
            && (shared.mirror.isInStep() || shared.isBucketGone);
        if (!goes) {
            ++entry;
            continue;
        }
        fs::create_directories(gone, error);
        fs::rename(shared.folder, gone / entry->first, error);
        unused.push_back(entry->second); // its lock is held until the end of this turn
        entry = mirrors.erase(entry);
    }
    lock.unlock();
    if (!unused.empty())
        fs::remove_all(gone, error);
}

void BucketFolders::Private::keep(const std::stop_token &stop)
{
    takeOnLeftovers();
    while (!stop.stop_requested()) {
        std::vector<MirrorPointer> all;
        {
            const std::scoped_lock lock(mutex);
            for (const auto &[key, mirror] : mirrors)
                all.push_back(mirror);
        }
        for (const MirrorPointer &mirror : all) {
            if (!stop.stop_requested())
                (void)sync(*mirror);
        }
        all.clear();
        dropUnused();
        std::unique_lock lock(mutex);
        changed.wait_for(lock, stop, options.interval, [] { return false; });
    }
}

BucketFolders::BucketFolders(BucketObjects &objects, BucketFoldersOptions options)
    : d(std::make_unique<Private>(objects, std::move(options)))
{
}

BucketFolders::~BucketFolders() = default;

Result<fs::path> BucketFolders::mount(const BucketVolume &volume, const std::string &uid)
{
    if (d->options.isDriverOn && !d->options.isDriverOn())
        return fail(ErrorCode::FailedPrecondition,
                    std::string("kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name ")
                        + driver + " not found in the list of registered CSI drivers");
    const auto options = mirrorOptions(volume);
    if (!options)
        return tl::unexpected(options.error());
    if (const Status allowed = d->mayList(volume.bucket, uid); !allowed)
        return tl::unexpected(driverError(volume.bucket, allowed.error()));
    bool isNew = false;
    const auto mirror = d->mirrorOf(*options, uid, isNew);
    if (!mirror)
        return tl::unexpected(driverError(volume.bucket, mirror.error()));
    if (isNew) {
        if (Status synced = d->sync(**mirror); !synced) {
            release(uid);
            return tl::unexpected(driverError(volume.bucket, synced.error()));
        }
    }
    return (*mirror)->mirror.data();
}

Status BucketFolders::flush(const std::string &uid)
{
    Status first;
    for (const MirrorPointer &mirror : d->of(uid)) {
        if (Status synced = d->sync(*mirror); !synced && first)
            first = tl::unexpected(driverError(mirror->mirror.options().bucket, synced.error()));
    }
    return first;
}

void BucketFolders::release(const std::string &uid)
{
    const std::scoped_lock lock(d->mutex);
    d->allowed.erase(uid);
    for (const auto &[key, mirror] : d->mirrors)
        mirror->users.erase(uid);
}

} // namespace cluster::local
