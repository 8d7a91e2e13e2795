#pragma once

#include "cluster/local/nodeagent/pod_access.h"
#include <boost/asio/io_context.hpp>

/// A program of this machine as the process of a container, in a process group of its own.
cluster::Result<std::unique_ptr<cluster::local::ContainerProcess>>
startShellProcess(boost::asio::io_context &io, const cluster::local::ExecOptions &options);
