#pragma once

#include <string>
#include <vector>

/// `slipway-engine worker`. Returns the exit code.
int workerCommand(const std::vector<std::string> &arguments);
