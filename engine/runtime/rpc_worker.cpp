#include "engine/runtime/rpc_worker.h"

#include "engine/runtime/host_resources.h"
#include "engine/runtime/library_log.h"
#include <csignal>
#include <cstdio>
#include <ggml-backend.h>
#include <ggml-rpc.h>
#include <string>
#include <vector>

namespace engine {

int runRpcServer(std::uint16_t port, int threads)
{
    std::signal(SIGPIPE, SIG_IGN); // a leader that is killed must not end the server by it
    routeLibraryLog();
    std::vector<ggml_backend_dev_t> devices;
    for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_GPU)
            devices.push_back(device);
    }
    if (devices.empty()) {
        if (ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU))
            devices.push_back(cpu);
    }
    const std::string endpoint = "127.0.0.1:" + std::to_string(port);
    const auto count = static_cast<std::size_t>(threads > 0 ? threads : defaultThreads());
    ggml_backend_rpc_start_server(endpoint.c_str(), nullptr, count, devices.size(), devices.data());
    std::fputs("error: ggml's RPC server could not start\n", stderr);
    return 1;
}

} // namespace engine
