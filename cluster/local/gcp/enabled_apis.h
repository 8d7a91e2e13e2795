#pragma once

#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/serviceusage_catalog.h"

#include <cstdint>
#include <string>

namespace cluster::local {

/// Which APIs a project has enabled. The first project of a target has all that this target offers from the
/// start; others what Google gives to a new project.
class EnabledApis
{
public:
    explicit EnabledApis(GcpContext &context) : m_context(context) {}

    [[nodiscard]] GoogleResult<bool> isEnabled(const Project &project, const std::string &api) const;
    /// From `since` on (milliseconds since 1970): enabling takes its time.
    GoogleStatus set(const Project &project, const std::string &api, bool enabled, std::int64_t since);

    /// What other services answer while their API is not enabled: 403 SERVICE_DISABLED.
    [[nodiscard]] GoogleStatus require(const Project &project, const std::string &api) const;

private:
    GcpContext &m_context;
};

} // namespace cluster::local
