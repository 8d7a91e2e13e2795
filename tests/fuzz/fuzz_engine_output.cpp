// What a model wrote, as the engine looks for tool calls and thoughts in it: whole, and in pieces whose
// length the first byte gives. Both ways find the same.

#include "engine/serving/reasoning_parser.h"
#include "engine/serving/tool_call_parser.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

using namespace engine;

namespace {

void reasoning(std::string_view text, std::size_t piece, bool startsInside)
{
    const auto split = [startsInside](std::string_view rest, std::size_t length) {
        ReasoningParser parser(startsInside);
        std::pair<std::string, std::string> found;
        const auto add = [&found](const ReasoningParser::Piece &part) {
            found.first += part.reasoning;
            found.second += part.content;
        };
        while (!rest.empty()) {
            add(parser.feed(rest.substr(0, length)));
            rest.remove_prefix(std::min(length, rest.size()));
        }
        add(parser.finish());
        return found;
    };
    if (split(text, piece) != split(text, text.size() + 1))
        std::abort();
}

void toolCalls(std::string_view rest, std::size_t piece, ToolCallStream::Form form)
{
    ToolCallStream stream(form);
    while (!rest.empty()) {
        (void)stream.feed(rest.substr(0, piece));
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    (void)stream.finish();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::size_t piece = data[0] + 1U;
    const std::string_view text(reinterpret_cast<const char *>(data + 1), size - 1);
    reasoning(text, piece, true);
    reasoning(text, piece, false);
    toolCalls(text, piece, ToolCallStream::Form::Hermes);
    toolCalls(text, piece, ToolCallStream::Form::Array);
    (void)parseHermesCalls(text);
    (void)parseCallArray(text);
    return 0;
}
