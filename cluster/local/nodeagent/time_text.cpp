#include "cluster/local/nodeagent/time_text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace cluster::local {

namespace {

std::tm brokenDown(Time time)
{
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    return parts;
}

/// The two or four digits at `position`, or -1.
int digits(std::string_view text, std::size_t position, std::size_t count)
{
    if (position + count > text.size())
        return -1;
    int value = 0;
    for (const char c : text.substr(position, count)) {
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    return value;
}

} // namespace

std::string secondsText(Time time)
{
    const std::tm parts = brokenDown(time);
    std::array<char, 32> buffer{};
    const std::size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return std::string(buffer.data(), size);
}

std::string nanosecondsText(Time time)
{
    const std::tm parts = brokenDown(time);
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(time - whole).count();
    std::array<char, 48> buffer{};
    const std::size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(buffer.data() + size, buffer.size() - size, ".%09lldZ", static_cast<long long>(rest));
    return buffer.data();
}

std::optional<Time> parseTime(std::string_view text)
{
    const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
    const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || minute < 0 || second < 0)
        return std::nullopt;
    std::size_t position = 19;
    std::int64_t nanoseconds = 0;
    if (position < text.size() && text[position] == '.') {
        std::int64_t unit = 100'000'000;
        for (++position; position < text.size() && text[position] >= '0' && text[position] <= '9';
             ++position) {
            nanoseconds += (text[position] - '0') * unit;
            unit /= 10;
        }
    }
    int offset = 0; // minutes east
    if (position < text.size() && (text[position] == '+' || text[position] == '-')) {
        const int hours = digits(text, position + 1, 2), minutes = digits(text, position + 4, 2);
        if (hours < 0 || minutes < 0)
            return std::nullopt;
        offset = (text[position] == '-' ? -1 : 1) * (hours * 60 + minutes);
    } else if (position >= text.size() || text[position] != 'Z') {
        return std::nullopt;
    }
    using namespace std::chrono;
    const sys_days date
        = year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                         std::chrono::day(static_cast<unsigned>(day)));
    return Time(date + hours(hour) + minutes(minute - offset) + seconds(second)
                + std::chrono::nanoseconds(nanoseconds));
}

std::string durationText(std::chrono::seconds duration)
{
    const auto total = duration.count();
    const auto hours = total / 3600, minutes = total / 60 % 60, seconds = total % 60;
    std::string text;
    if (hours > 0)
        text += std::to_string(hours) + "h";
    if (total >= 60)
        text += std::to_string(minutes) + "m";
    return text + std::to_string(seconds) + "s";
}

} // namespace cluster::local
