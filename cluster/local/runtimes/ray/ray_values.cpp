#include "cluster/local/runtimes/ray/ray_values.h"

#include <random>

namespace cluster::local {

namespace {

std::string randomText(std::size_t length, std::string_view alphabet)
{
    static thread_local std::mt19937_64 random{std::random_device{}()};
    std::uniform_int_distribution<std::size_t> digit(0, alphabet.size() - 1);
    std::string text(length, ' ');
    for (char &c : text)
        c = alphabet[digit(random)];
    return text;
}

} // namespace

std::string randomHex(std::size_t digits)
{
    return randomText(digits, "0123456789abcdef");
}

std::string randomReplicaId()
{
    return randomText(8, "abcdefghijklmnopqrstuvwxyz0123456789");
}

std::string randomUuid()
{
    std::string text = randomHex(32);
    text[12] = '4'; // version 4, variant 1
    text[16] = randomText(1, "89ab")[0];
    for (const std::size_t at : {20u, 16u, 12u, 8u})
        text.insert(at, 1, '-');
    return text;
}

double secondsSinceEpoch()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

std::int64_t millisecondsSinceEpoch()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

} // namespace cluster::local
