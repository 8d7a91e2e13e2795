// What a model server answers: the first byte gives the length of the pieces it comes in, the second says
// whether it is a stream, a whole answer or an error.

#include "cluster/openai/client.h"
#include "cluster/openai/stream_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace cluster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size < 2)
        return 0;
    const std::size_t piece = data[0] + 1U;
    const char kind = static_cast<char>(data[1]);
    std::string_view rest(reinterpret_cast<const char *>(data + 2), size - 2);
    if (parseErrorBody(500, rest).message.empty())
        std::abort();
    const StreamHandlers handlers;
    const AnswerBuilder::TimePoint start{};
    StreamReader reader("server", start, handlers);
    reader.begin(kind == 'e' ? 400 : 200, kind == 's' ? "text/event-stream" : "application/json");
    bool isGood = true;
    while (!rest.empty() && isGood) {
        const auto reading = reader.take(rest.substr(0, piece), start);
        isGood = reading.has_value() && *reading == Reading::Continue;
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    (void)reader.finish(start);
    (void)reader.close(start);
    return 0;
}
