// A page of metrics, of any server.

#include "cluster/observe/prometheus_text.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto page = cluster::parsePrometheusText({reinterpret_cast<const char *>(data), size});
    if (page.problems.size() > 100)
        std::abort();
    for (const auto &[name, points] : page.index) {
        for (const std::size_t point : points) {
            if (page.points.at(point).name != name)
                std::abort();
            (void)cluster::labelText(page.points[point].labels);
        }
    }
    return 0;
}
