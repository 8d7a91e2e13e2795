#include "engine/serving/id_source.h"

namespace engine {

IdSource::IdSource()
{
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    m_random.seed(seed);
}

IdSource::IdSource(std::uint64_t seed) : m_random(seed) {}

std::string IdSource::hex(int digits)
{
    static const char alphabet[] = "0123456789abcdef";
    std::string text;
    std::uint64_t bits = 0;
    for (int i = 0; i < digits; ++i) {
        if (i % 16 == 0)
            bits = m_random();
        text += alphabet[bits & 15];
        bits >>= 4;
    }
    return text;
}

} // namespace engine
