#pragma once

#include "app/slipwayctl/command_line.h"
#include "cluster/modelstore/model_store.h"

#include <optional>
#include <string>

namespace slipwayctl {

/// The user's store; nothing, with the reason reported, if its catalogue is broken.
std::optional<cluster::ModelStore> openStore(CommandContext &context);

/// The hub with the user's token: HF_TOKEN, else 'huggingface' of the keyring, else the file HF_TOKEN_PATH.
/// Errors: FailedPrecondition when others may read that file; NotFound.
cluster::Result<cluster::HubAccess> hubAccess(const CommandContext &context, const std::string &baseUrl);

/// The text of a file that only its owner may read, without blanks around it. Same errors.
cluster::Result<std::string> readSecret(const std::string &path);

} // namespace slipwayctl
