#pragma once

#include "app/slipwayctl/command_line.h"
#include "cluster/modelstore/pull_options.h"

#include <chrono>

namespace slipwayctl {

/// How far a pull is, on standard error. On a terminal a line that is rewritten in place; elsewhere a line
/// for each new thing done; with -o json an object a line, also while bytes come: {"doing", "bytes", "total"}
/// (0: not known).
class PullReport
{
public:
    explicit PullReport(const CommandContext &context);
    ~PullReport();
    PullReport(const PullReport &) = delete;
    PullReport &operator=(const PullReport &) = delete;

    void show(const cluster::PullProgress &progress);

private:
    void showJson(const cluster::PullProgress &progress);

    bool m_isJson;
    bool m_isTerminal;
    std::string m_last;
    std::chrono::steady_clock::time_point m_lastTime;
};

} // namespace slipwayctl
