// The body of PUT /api/serve/applications/, and the applications in it: anybody who reaches a Ray head sends
// one.

#include "cluster/local/runtimes/ray/serve_apps.h"

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto config = parseServeConfig({reinterpret_cast<const char *>(data), size});
    if (!config)
        return 0;
    for (const ServeAppConfig &app : config->apps)
        (void)appBlueprint(app, [](const std::string &) { return std::string(); });
    return 0;
}
