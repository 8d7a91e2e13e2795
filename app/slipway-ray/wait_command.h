#pragma once

#include <string>
#include <vector>

/// `slipway-ray health-check --address HOST:PORT [--wait]`: whether a head listens there. Exit status 0 or 1;
/// with --wait it asks every second until one does, as KubeRay's init container has it.
int healthCheckCommand(const std::vector<std::string> &words);
