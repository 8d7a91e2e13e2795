#pragma once

#include "cluster/local/nodeagent/container_runner.h"
#include "cluster/local/nodeagent/container_session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace cluster::local {

struct ContainerRunner::Timers
{
    explicit Timers(boost::asio::io_context &io) : kill(io) {}
    boost::asio::steady_timer kill;
};

struct ContainerRunner::ProbeLoop
{
    ProbeLoop(boost::asio::io_context &io, const char *probeName, std::shared_ptr<const ProbeSpec> probe,
              bool initial)
        : name(probeName), spec(std::move(probe)), tally(*spec, initial), timer(io)
    {
    }
    const char *name; ///< "Liveness"
    std::shared_ptr<const ProbeSpec> spec;
    ProbeTally tally;
    boost::asio::steady_timer timer;
    std::shared_ptr<void> attempt;
    bool isOver = false;
};

struct ContainerRunner::Tap
{
    std::weak_ptr<AttachedOutput> output;
};

} // namespace cluster::local
