#include "cluster/local/storage/bucket_mirror.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds refusalPause{10};

} // namespace

BucketMirror::BucketMirror(BucketObjects &objects, MirrorOptions options, fs::path path, GuardedFolder folder)
    : m_objects(objects), m_options(std::move(options)), m_path(std::move(path)), m_folder(std::move(folder))
{
}

Result<BucketMirror> BucketMirror::open(BucketObjects &objects, MirrorOptions options, const fs::path &folder)
{
    // Who opens a file to write while it is lent breaks the loan: the signal that tells of it would kill us.
    ::signal(SIGIO, SIG_IGN);
    auto guarded = GuardedFolder::open(folder / "data", folder / "staging");
    if (!guarded)
        return tl::unexpected(guarded.error());
    BucketMirror mirror(objects, std::move(options), folder, std::move(*guarded));
    mirror.load();
    return mirror;
}

/// A record of another folder, or none that can be read, says nothing: it must not make objects look deleted.
void BucketMirror::load()
{
    std::ifstream file(m_path / "state.json");
    std::stringstream text;
    text << file.rdbuf();
    const json state = json::parse(text.str(), nullptr, false);
    try {
        const auto there = m_folder.scan();
        if (!state.is_object() || state.at("folder").get<std::string>() != m_folder.identity() || !there
            || there->empty())
            return;
        for (const json &entry : state.at("known")) {
            Known known;
            known.file = {entry.at(1).get<bool>(), entry.at(2).get<std::uint64_t>(),
                          entry.at(3).get<std::int64_t>(), entry.at(4).get<std::uint64_t>()};
            known.object = entry.at(5).get<std::string>();
            known.generation = entry.at(6).get<std::int64_t>();
            m_known[entry.at(0).get<std::string>()] = std::move(known);
        }
    } catch (const json::exception &) {
        m_known.clear();
    }
}

void BucketMirror::save()
{
    if (!m_isChanged)
        return;
    json state{{"folder", m_folder.identity()}, {"known", json::array()}};
    for (const auto &[path, known] : m_known)
        state["known"].push_back({path, known.file.isFolder, known.file.size, known.file.changed,
                                  known.file.inode, known.object, known.generation});
    const fs::path file = m_path / "state.json", draft = m_path / "state.new";
    std::ofstream stream(draft);
    // File names are bytes: what is no UTF-8 can't be an object either and is not in step.
    stream << state.dump(-1, ' ', false, json::error_handler_t::replace);
    stream.close();
    std::error_code error;
    if (stream)
        fs::rename(draft, file, error);
    m_isChanged = !stream || error;
}

Status BucketMirror::refreshRemote()
{
    const std::uint64_t changes = m_objects.changes();
    if (m_hasListed && changes == m_seenChanges)
        return {};
    const auto content = m_objects.list(m_options.bucket);
    if (!content)
        return tl::unexpected(content.error());
    m_remote = treeOf(*content, m_options.tree);
    m_isHierarchical = content->isHierarchical;
    m_seenChanges = changes;
    m_hasListed = true;
    return {};
}

void BucketMirror::note(const Status &status)
{
    m_isInStep = m_isInStep && status.has_value();
    // Changed meanwhile, or still being written: the next turn sees it.
    const bool isPassing = !status
        && (status.error().code == ErrorCode::Aborted || status.error().code == ErrorCode::Unavailable
            || status.error().code == ErrorCode::FailedPrecondition);
    if (!status && !isPassing && m_trouble)
        m_trouble = status;
}

Status BucketMirror::sync()
{
    m_isInStep = true;
    m_trouble = {};
    if (Status listed = refreshRemote(); !listed) {
        m_isInStep = false;
        return listed;
    }
    auto local = m_folder.scan();
    if (!local) {
        m_isInStep = false;
        return tl::unexpected(local.error());
    }
    removeWhatIsGone(*local);
    addWhatIsNew(*local);
    save();
    return m_trouble;
}

void BucketMirror::forget(const std::string &path)
{
    m_known.erase(path);
    m_isChanged = true;
}

/// The bucket has it no more (or has another kind of thing there), and nobody has touched it here.
bool BucketMirror::isDropped(const std::string &path, const SeenFile &local) const
{
    const auto remote = m_remote.find(path);
    if (remote != m_remote.end() && remote->second.isFolder == local.isFolder)
        return false;
    if (m_options.isReadOnly)
        return true;
    const auto known = m_known.find(path);
    return known != m_known.end() && known->second.file.isSame(local);
}

/// Last names first: a folder is empty before its turn.
void BucketMirror::removeWhatIsGone(Tree &local)
{
    std::vector<std::string> gone;
    for (auto entry = local.rbegin(); entry != local.rend(); ++entry) {
        if (!isDropped(entry->first, entry->second))
            continue;
        note(m_folder.remove(entry->first, entry->second));
        if (!m_folder.look(entry->first))
            gone.push_back(entry->first);
    }
    for (const std::string &path : gone) {
        forget(path);
        local.erase(path);
    }
    if (m_options.isReadOnly)
        return;
    gone.clear();
    for (auto known = m_known.rbegin(); known != m_known.rend(); ++known) {
        if (!local.contains(known->first))
            gone.push_back(known->first);
    }
    for (const std::string &path : gone)
        removeObject(path, m_known.at(path));
}

/// It was deleted here.
void BucketMirror::removeObject(const std::string &path, const Known &known)
{
    const auto remote = m_remote.find(path);
    const bool isSame = remote != m_remote.end() && remote->second.isFolder == known.file.isFolder
        && (known.file.isFolder || remote->second.generation == known.generation);
    if (!isSame || (remote->second.object.empty() && !m_isHierarchical)) {
        forget(path);
        return; // gone there as well, or changed: then it comes back
    }
    Status removed;
    if (!remote->second.object.empty())
        removed = m_objects.remove(m_options.bucket, remote->second.object, remote->second.generation);
    if (m_isHierarchical && known.file.isFolder && (removed || removed.error().code == ErrorCode::NotFound))
        removed = m_objects.removeFolder(m_options.bucket, objectOf(path) + "/");
    if (!removed && removed.error().code != ErrorCode::NotFound) {
        note(removed);
        return;
    }
    m_remote.erase(remote);
    forget(path);
}

void BucketMirror::addWhatIsNew(const Tree &local)
{
    auto mine = local.begin();
    const RemoteTree remote = m_remote; // the visits change it
    auto theirs = remote.begin();
    while (mine != local.end() || theirs != remote.end()) {
        const bool hasMine = mine != local.end() && (theirs == remote.end() || mine->first <= theirs->first);
        const bool hasTheirs
            = theirs != remote.end() && (mine == local.end() || theirs->first <= mine->first);
        const std::string path = hasMine ? mine->first : theirs->first;
        visit(path, hasMine ? &mine->second : nullptr, hasTheirs ? &theirs->second : nullptr);
        if (hasMine)
            ++mine;
        if (hasTheirs)
            ++theirs;
    }
}

void BucketMirror::visit(const std::string &path, const SeenFile *local, const RemoteEntry *remote)
{
    if (local != nullptr && isDropped(path, *local)) {
        m_isInStep = false; // not empty yet, or changed meanwhile
        return;
    }
    if (local == nullptr) {
        if (remote != nullptr)
            download(path, nullptr, *remote);
        return;
    }
    const auto known = m_known.find(path);
    const bool isChanged = known == m_known.end() || !known->second.file.isSame(*local);
    if (remote == nullptr || remote->isFolder != local->isFolder) {
        if (local->isFolder)
            makeRemoteFolder(path, *local);
        else
            upload(path, *local, nullptr);
        return;
    }
    if (local->isFolder) {
        if (isChanged || known->second.generation != remote->generation) {
            m_known[path] = {*local, remote->object, remote->generation};
            m_isChanged = true;
        }
        return;
    }
    const bool isNewThere = known == m_known.end() || known->second.generation != remote->generation;
    if (isNewThere && (!isChanged || m_options.isReadOnly))
        download(path, local, *remote);
    else if (isChanged && m_options.isReadOnly)
        download(path, local, *remote);
    else if (isNewThere && isChanged)
        adoptOrUpload(path, *local, *remote);
    else if (isChanged)
        upload(path, *local, remote);
}

void BucketMirror::download(const std::string &path, const SeenFile *local, const RemoteEntry &remote)
{
    if (remote.isFolder) {
        const Status made = m_folder.makeFolder(path);
        note(made);
        const auto seen = m_folder.look(path);
        if (made && seen && seen->isFolder) {
            m_known[path] = {*seen, remote.object, remote.generation};
            m_isChanged = true;
        }
        return;
    }
    const auto file = m_folder.stage();
    if (!file) {
        note(tl::unexpected(file.error()));
        return;
    }
    const Status copied = m_objects.copyTo(m_options.bucket, remote.object, remote.generation, *file);
    if (!copied) {
        m_folder.drop(*file);
        // Replaced or deleted since it was listed.
        note(copied.error().code == ErrorCode::NotFound ? fail(ErrorCode::Aborted, {}) : copied);
        return;
    }
    const auto placed = m_folder.place(*file, path, local, m_options.isReadOnly ? 0444 : 0644);
    if (!placed) {
        note(tl::unexpected(placed.error()));
        return;
    }
    m_known[path] = {*placed, remote.object, remote.generation};
    m_isChanged = true;
}

/// Both are new: after a crash between a copy and the record of it they are the same.
void BucketMirror::adoptOrUpload(const std::string &path, const SeenFile &local, const RemoteEntry &remote)
{
    if (local.size != remote.size || !hasSameBytes(path, remote)) {
        upload(path, local, &remote);
        return;
    }
    m_known[path] = {local, remote.object, remote.generation};
    m_isChanged = true;
}

bool BucketMirror::hasSameBytes(const std::string &path, const RemoteEntry &remote)
{
    SeenFile seen;
    const auto mine = m_folder.openToRead(path, seen);
    const auto theirs = m_folder.stage();
    bool isSame = mine && theirs
        && m_objects.copyTo(m_options.bucket, remote.object, remote.generation, *theirs).has_value();
    for (off_t at = 0; isSame;) {
        char first[16384], second[16384];
        const ssize_t a = ::pread(*mine, first, sizeof first, at);
        const ssize_t b = ::pread(*theirs, second, sizeof second, at);
        isSame = a == b && a >= 0 && std::equal(first, first + a, second);
        if (a <= 0)
            break;
        at += a;
    }
    if (mine)
        ::close(*mine);
    if (theirs)
        m_folder.drop(*theirs);
    return isSame;
}

void BucketMirror::upload(const std::string &path, const SeenFile &local, const RemoteEntry *remote)
{
    const auto now = std::chrono::steady_clock::now();
    if (const auto refused = m_refused.find(path); refused != m_refused.end()) {
        if (refused->second.file.isSame(local) && now < refused->second.until) {
            m_isInStep = false;
            return;
        }
        m_refused.erase(refused);
    }
    SeenFile seen;
    const auto file = m_folder.openToRead(path, seen);
    if (!file) {
        if (file.error().code == ErrorCode::NotFound)
            m_isInStep = false; // gone or replaced meanwhile
        else
            note(tl::unexpected(file.error()));
        return;
    }
    // What was shown with a newline because of a folder keeps its object.
    const std::string object = remote != nullptr ? remote->object : objectOf(path);
    const auto generation
        = m_objects.write(m_options.bucket, object, *file, remote != nullptr ? remote->generation : 0);
    ::close(*file);
    if (!generation) {
        note(tl::unexpected(generation.error()));
        if (generation.error().code != ErrorCode::FailedPrecondition)
            m_refused[path] = {local, now + refusalPause};
        return;
    }
    m_known[path] = {seen, object, *generation};
    m_isChanged = true;
    // Opened and written while it was copied: it goes again.
    const auto after = m_folder.look(path);
    m_isInStep = m_isInStep && after && after->isSame(seen);
}

void BucketMirror::makeRemoteFolder(const std::string &path, const SeenFile &local)
{
    std::int64_t generation = 0;
    const std::string object = objectOf(path) + "/";
    if (m_isHierarchical) {
        if (const Status made = m_objects.makeFolder(m_options.bucket, object); !made) {
            note(made);
            return;
        }
    } else {
        const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        const auto written = m_objects.write(m_options.bucket, object, empty, 0);
        ::close(empty);
        if (!written) {
            note(tl::unexpected(written.error()));
            return;
        }
        generation = *written;
    }
    m_known[path] = {local, m_isHierarchical ? std::string() : object, generation};
    m_isChanged = true;
}

} // namespace cluster::local
