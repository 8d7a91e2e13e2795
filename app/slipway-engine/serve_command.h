#pragma once

#include <string>
#include <vector>

/// `slipway-engine serve`. Returns the exit code.
int serveCommand(const std::vector<std::string> &arguments);
