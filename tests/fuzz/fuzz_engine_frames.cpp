// What the engine's processes tell each other: frames of front and runner, greetings of leader and worker.
// The first byte says which.

#include "engine/group/greeting.h"
#include "engine/protocol/codec.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>

using namespace engine;

namespace {

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/// What was understood can be said again.
template<typename Message>
void sayAgain(const cluster::Result<Message> &message)
{
    if (message)
        require(encodeFrame(*message).has_value());
}

void stream(std::string_view text)
{
    FrameReader reader;
    while (!text.empty()) {
        const std::size_t piece = std::min<std::size_t>(text.size(), 7);
        reader.append(text.substr(0, piece));
        text.remove_prefix(piece);
        for (;;) {
            const auto body = reader.next();
            if (!body)
                return;
            if (!*body)
                break;
            sayAgain(decodeFrontMessage(**body));
            sayAgain(decodeRunnerMessage(**body));
        }
    }
}

void greeting(std::string_view text)
{
    const auto length = greetingLength(text.substr(0, greetingHeaderBytes));
    if (length)
        require(*length <= maxGreetingBytes);
    const std::string_view json = text.substr(std::min(text.size(), greetingHeaderBytes));
    if (const auto hello = decodeHello(json)) {
        const std::string again = encode(*hello);
        if (again.size() <= maxGreetingBytes)
            require(decodeHello(std::string_view(again).substr(greetingHeaderBytes)).has_value());
    }
    (void)decodeHelloAnswer(json);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0]) {
    case 'f':
        sayAgain(decodeFrontMessage(text));
        break;
    case 'r':
        sayAgain(decodeRunnerMessage(text));
        break;
    case 'g':
        greeting(text);
        break;
    default:
        stream(text);
    }
    return 0;
}
