#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace slipway_adapter {

/// The flags of the Custom Metrics Stackdriver Adapter, and what its surroundings say.
struct Options
{
    std::uint16_t port = 443;
    bool servesCustom = true, servesExternal = true;
    std::string address; ///< the pod's, on this machine
    std::string metadataHost; ///< empty: there is no metadata server
    std::string googleUrl, googleCaFile; ///< of Google's side
    std::string kubeUrl;
    std::string accountFolder; ///< with the files `token` and `ca.crt`
};

/// Nothing: the program is to end with `exitStatus`.
std::optional<Options> parseOptions(int argc, char **argv, int &exitStatus);

} // namespace slipway_adapter
