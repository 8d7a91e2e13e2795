#include "engine/metrics/process_metrics.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace engine::exposition {

namespace {

/// Fields of /proc/self/stat after the program's name, which may contain blanks; [0] is field 3 of proc(5).
std::vector<std::string> statFields()
{
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos)
        return {};
    std::istringstream rest(text.substr(end + 1));
    std::vector<std::string> fields;
    for (std::string field; rest >> field;)
        fields.push_back(field);
    return fields;
}

std::optional<double> bootTime()
{
    std::ifstream file("/proc/stat");
    std::string word;
    while (file >> word) {
        double seconds = 0;
        if (word == "btime" && file >> seconds)
            return seconds;
        file.ignore(65536, '\n');
    }
    return std::nullopt;
}

std::optional<double> openFiles()
{
    std::error_code error;
    double count = 0;
    for (std::filesystem::directory_iterator one("/proc/self/fd", error), end; !error && one != end;
         one.increment(error))
        ++count;
    if (error)
        return std::nullopt;
    return count - 1; // the iterator's own
}

void writeOne(Page &page, const char *name, const char *help, const char *type, std::optional<double> value)
{
    if (!value)
        return;
    page.head(name, help, type);
    page.value(name, {}, *value);
}

} // namespace

void writeProcessMetrics(Page &page)
{
    constexpr std::size_t userTime = 11;
    constexpr std::size_t systemTime = 12;
    constexpr std::size_t startTime = 19;
    constexpr std::size_t virtualSize = 20;
    constexpr std::size_t residentPages = 21;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto pageSize = static_cast<double>(sysconf(_SC_PAGESIZE));
    const std::vector<std::string> stat = statFields();
    const auto field = [&stat](std::size_t place) -> std::optional<double> {
        return place < stat.size() ? std::optional(std::strtod(stat[place].c_str(), nullptr)) : std::nullopt;
    };
    const auto scaled = [](std::optional<double> value, double factor) {
        return value ? std::optional(*value * factor) : std::nullopt;
    };
    writeOne(page, "process_virtual_memory_bytes", "Address space of the process, bytes.", "gauge",
             field(virtualSize));
    writeOne(page, "process_resident_memory_bytes", "Memory of the process that is in RAM, bytes.", "gauge",
             scaled(field(residentPages), pageSize));
    const auto boot = bootTime();
    const auto started = scaled(field(startTime), 1 / ticks);
    writeOne(page, "process_start_time_seconds", "When the process began, Unix time.", "gauge",
             boot && started ? std::optional(*boot + *started) : std::nullopt);
    const auto user = field(userTime);
    const auto system = field(systemTime);
    writeOne(page, "process_cpu_seconds_total", "Processor time that the process used, user and system.",
             "counter", user && system ? std::optional((*user + *system) / ticks) : std::nullopt);
    writeOne(page, "process_open_fds", "File descriptors that are open.", "gauge", openFiles());
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        writeOne(page, "process_max_fds", "File descriptors that may be open.", "gauge",
                 static_cast<double>(limit.rlim_cur));
}

} // namespace engine::exposition
