#pragma once

#include "cluster/local/controlplane/control_plane.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

/// How one program of the control plane is run. Paths among the arguments are relative to
/// ControlPlaneOptions::dir, the working folder of all: Unix sockets below a long path would not fit the
/// kernel's 107 bytes.
struct ProgramLine
{
    std::string name;
    std::vector<std::string> arguments; ///< after the program itself
    std::vector<std::string> environment; ///< "NAME=value"
};

ProgramLine etcdLine();
ProgramLine apiServerLine(const ControlPlaneOptions &options, std::uint16_t port);
ProgramLine controllerManagerLine();
ProgramLine schedulerLine();
ProgramLine rayOperatorLine();

/// The lines of kube-apiserver's --token-auth-file. InvalidArgument: a token or name that would break the
/// format.
Result<std::string> tokenFileText(const std::vector<ControlPlaneToken> &tokens);

/// EgressSelectorConfiguration: what is bound for the cluster goes to the proxy at `socket` (empty:
/// directly).
std::string egressSelectorText(const std::filesystem::path &socket);

/// A kubeconfig (JSON is YAML) with a client certificate, for the programs themselves.
std::string kubeconfigText(const std::string &server, const std::string &caFile,
                           const std::string &certificateFile, const std::string &keyFile);

/// The first address of a range: "10.201.0.1" of "10.201.0.0/16", the Service `kubernetes`. InvalidArgument.
Result<std::string> firstServiceAddress(const std::string &range);

} // namespace cluster::local
