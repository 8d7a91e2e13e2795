// What the node agent reads of pods: the object, texts in it, and the table of images. The first byte says
// which.

#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/image_table.h"
#include "cluster/local/nodeagent/shell_words.h"
#include "cluster/local/nodeagent/time_text.h"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

constexpr const char *table = R"(
rules:
  - {image: "*vllm*", command: "vllm serve|^ *$", runtime: slipway-engine, stand_in: "engine with {model}"}
  - {image: "*/pause", runtime: simulated}
  - {image: busybox, runtime: process, entrypoint: [sh]}
)";

/// `text` is {"pod":…, "node":…, "services":[…]}; a pod alone is as good.
void pod(std::string_view text)
{
    const json whole = json::parse(text, nullptr, false);
    if (!whole.is_object())
        return;
    static const auto images = ImageTable::parse(table, {true, true});
    const json given = whole.value("pod", whole);
    const PodSpec spec = parsePod(std::make_shared<const json>(given));
    const json node = whole.value("node", json());
    const json services = whole.value("services", json::array());
    const ObjectOf noObject = [](const std::string &, const std::string &name) -> Result<json> {
        return json{{"metadata", {{"name", name}}}, {"data", {{"a", "aGVsbG8="}, {"b", "%"}}}};
    };
    for (std::size_t i = 0; i < spec.containers.size(); ++i) {
        (void)images->choose(spec.containers[i], {});
        (void)containerEnvironment(
            {spec, i, "127.16.0.2", "127.128.0.2", node, services, noObject, "127.0.0.1", 443});
    }
    (void)images->isSimulated(spec);
    json pruned = given;
    pruneSimulatedPod(pruned);
    (void)tpuEnvironment(node);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0]) {
    case 'i':
        (void)ImageTable::parse(text, {false, false});
        break;
    case 's':
        (void)shellCommands(text, [](const std::string &name) { return name; });
        break;
    case 't':
        (void)parseTime(text);
        (void)parseQuantity(text);
        (void)imageRepository(text);
        (void)decodeBase64(text);
        (void)expandReferences(text, {{"A", "b"}});
        break;
    default:
        pod(text);
    }
    return 0;
}
