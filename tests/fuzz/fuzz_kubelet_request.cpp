// What clients of the kubelet's and the metrics API put into URLs and headers: lines of `name=value`. And the
// resize stream.

#include "cluster/local/kubelet/command_request.h"
#include "cluster/local/kubelet/label_selector.h"
#include "cluster/local/kubelet/resize_reader.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    ServerRequest request;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t equals = std::min(line.find('='), line.size());
        const std::string name(line.substr(0, equals));
        const std::string value(line.substr(std::min(equals + 1, line.size())));
        request.query.emplace_back(name, value);
        request.headers.emplace_back(name, value);
        if (const auto selector = LabelSelector::parse(value))
            (void)selector->selects({{"app", "web"}});
        (void)parseSinceTime(value);
    }
    constexpr std::array<std::string_view, 2> accepted{"v4.channel.k8s.io", "v3.channel.k8s.io"};
    (void)parseLogOptions(request, std::chrono::system_clock::time_point());
    (void)parseExecOptions(request, false);
    (void)negotiated(request, "X-Stream-Protocol-Version", accepted);
    (void)offered(request, "X-Stream-Protocol-Version");
    ResizeReader reader;
    (void)reader.feed(text.substr(0, size / 2));
    (void)reader.feed(text.substr(size / 2));
    return 0;
}
