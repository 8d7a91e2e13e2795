#pragma once

#include "cluster/base/result.h"
#include <string>
#include <vector>

namespace engine {

/// The arguments with each `--config FILE` replaced by the flags that the YAML file holds (keys are flag
/// names, lists become several values, true and false switches). They are put first, so that the command line
/// wins, as in vLLM. Errors: NotFound, InvalidArgument naming the file and line.
[[nodiscard]] cluster::Result<std::vector<std::string>>
withConfigFile(const std::vector<std::string> &arguments);

} // namespace engine
