#include "cluster/observe/metric_csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>

namespace cluster {

namespace {

std::string isoTime(SampleTime time)
{
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const std::time_t unix = seconds.time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&unix, &parts);
    std::array<char, 32> date{};
    const std::size_t size = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>((time - seconds).count()));
    return std::string(date.data(), size) + fraction.data();
}

std::string shortest(double value)
{
    if (!std::isfinite(value))
        return {};
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

} // namespace

std::string chartCsv(const std::vector<CsvColumn> &columns)
{
    std::string text = "time,unix_ms";
    std::map<SampleTime, std::vector<std::string>> rows;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        text += ',';
        text += chartMetricFacts(columns[i].metric).name;
        for (const ChartPoint &point : columns[i].points) {
            auto &row = rows.try_emplace(point.time, columns.size()).first->second;
            row[i] = shortest(point.value);
        }
    }
    text += "\r\n";
    for (const auto &[time, fields] : rows) {
        text += isoTime(time) + ',' + std::to_string(time.time_since_epoch().count());
        for (const std::string &field : fields)
            text += ',' + field;
        text += "\r\n";
    }
    return text;
}

} // namespace cluster
