#include "cluster/local/lws/utc_text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace cluster::local {

namespace {

using namespace std::chrono;

std::string beforeTheZone(system_clock::time_point time)
{
    const std::time_t seconds = system_clock::to_time_t(floor<std::chrono::seconds>(time));
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts)};
}

} // namespace

std::string utcSeconds(system_clock::time_point time)
{
    return beforeTheZone(time) + "Z";
}

std::string utcMicros(system_clock::time_point time)
{
    const auto micros = floor<microseconds>(time - floor<seconds>(time)).count();
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), ".%06ldZ", static_cast<long>(micros));
    return beforeTheZone(time) + text.data();
}

} // namespace cluster::local
