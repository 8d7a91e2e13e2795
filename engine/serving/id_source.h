#pragma once

#include <random>
#include <string>

namespace engine {

/// Fresh names for answers: hex digits that do not repeat.
class IdSource
{
public:
    IdSource();
    explicit IdSource(std::uint64_t seed); ///< For tests.

    [[nodiscard]] std::string hex(int digits);

private:
    std::mt19937_64 m_random;
};

} // namespace engine
