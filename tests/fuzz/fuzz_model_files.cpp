// Files and names of models: safetensors, a sentence encoder's configuration and vocabulary, references to a
// hub. The first byte says which.

#include "cluster/modelstore/bert_to_gguf.h"
#include "cluster/modelstore/hub.h"
#include "cluster/modelstore/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace cluster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char *>(data + 1), size - 1);
    if (data[0] == 'h') {
        (void)parseHubReference(std::string(text));
        return 0;
    }
    if (data[0] == 'b') { // configuration, vocabulary and weights, each ended by a NUL
        const auto first = std::min(text.find('\0'), text.size());
        const auto second = std::min(text.find('\0', std::min(first + 1, text.size())), text.size());
        const auto part = [&](std::size_t from, std::size_t to) {
            return from < to ? std::string(text.substr(from, to - from)) : std::string();
        };
        const BertModelFiles files{part(0, first), part(first + 1, second), part(second + 1, text.size())};
        (void)writeBertAsGguf(files, "name", "licence", [](std::string_view) { return Status(); });
        return 0;
    }
    const auto tensors = readSafetensors(text);
    for (std::size_t i = 0; tensors && i < tensors->size(); ++i) {
        const SafeTensor &tensor = (*tensors)[i];
        if (tensor.bytes.size() > text.size())
            std::abort();
        (void)asFloat16(tensor);
        (void)asFloat32(tensor);
    }
    return 0;
}
