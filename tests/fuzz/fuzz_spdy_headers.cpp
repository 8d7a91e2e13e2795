// Compressed header blocks, several on one connection: the first byte of each is its length.

#include "cluster/local/kubelet/header_block.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    HeaderBlockReader reader(4096);
    while (!rest.empty()) {
        const std::size_t length = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        const std::string_view block = rest.substr(0, length);
        rest.remove_prefix(block.size());
        const auto headers = reader.read(block);
        if (!headers)
            break;
        std::size_t bytes = 0;
        for (const auto &[name, value] : *headers)
            bytes += name.size() + value.size();
        if (bytes > 4096 + 4096)
            std::abort(); // more than the limit and one step of unpacking
    }
    return 0;
}
