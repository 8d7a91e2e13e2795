#include "cluster/local/kubelet/command_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace cluster::local {

namespace {

using SystemTime = std::chrono::system_clock::time_point;

bool isTrue(const ServerRequest &request, std::string_view name)
{
    const std::string value = request.queryValue(name).value_or("");
    return value == "1" || value == "true" || value == "True" || value == "TRUE" || value == "t"
        || value == "T";
}

/// `smallest` to the largest number; nothing if it is not asked for.
Result<std::optional<std::int64_t>> number(const ServerRequest &request, std::string_view name,
                                           std::int64_t smallest)
{
    const std::optional<std::string> text = request.queryValue(name);
    if (!text || text->empty())
        return std::optional<std::int64_t>();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value < smallest)
        return fail(ErrorCode::InvalidArgument,
                    std::string(name) + "='" + text->substr(0, 100) + "' is no whole number of "
                        + std::to_string(smallest) + " or more");
    return std::optional<std::int64_t>(value);
}

std::optional<int> digits(std::string_view &text, std::size_t count)
{
    int value = 0;
    if (text.size() < count)
        return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9')
            return std::nullopt;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view &text, std::string_view oneOf)
{
    if (text.empty() || oneOf.find(text.front()) == std::string_view::npos)
        return false;
    text.remove_prefix(1);
    return true;
}

std::optional<std::chrono::nanoseconds> fraction(std::string_view &text)
{
    std::int64_t nanoseconds = 0;
    int count = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        if (count < 9)
            nanoseconds = nanoseconds * 10 + (text.front() - '0');
        ++count;
        text.remove_prefix(1);
    }
    for (int i = count; i < 9; ++i)
        nanoseconds *= 10;
    return count == 0 ? std::nullopt : std::optional(std::chrono::nanoseconds(nanoseconds));
}

std::optional<std::chrono::minutes> zone(std::string_view &text)
{
    if (take(text, "Zz"))
        return std::chrono::minutes(0);
    const bool isEast = !text.empty() && text.front() == '+';
    if (!take(text, "+-"))
        return std::nullopt;
    const auto hours = digits(text, 2);
    const bool hasColon = take(text, ":");
    const auto minutes = digits(text, 2);
    if (!hours || !hasColon || !minutes || *hours > 23 || *minutes > 59)
        return std::nullopt;
    const std::chrono::minutes offset(*hours * 60 + *minutes);
    return isEast ? offset : -offset;
}

std::vector<std::string> listed(const ServerRequest &request, std::string_view name)
{
    std::vector<std::string> values;
    for (const auto &[field, value] : request.headers) {
        const bool isIt = field.size() == name.size()
            && std::equal(field.begin(), field.end(), name.begin(), [](unsigned char a, unsigned char b) {
                              return std::tolower(a) == std::tolower(b);
                          });
        std::string_view rest = isIt ? std::string_view(value) : std::string_view();
        while (!rest.empty()) {
            std::string_view part = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(part.size() + 1, rest.size()));
            while (take(part, " \t")) {}
            while (!part.empty() && (part.back() == ' ' || part.back() == '\t'))
                part.remove_suffix(1);
            if (!part.empty())
                values.emplace_back(part);
        }
    }
    return values;
}

} // namespace

std::optional<SystemTime> parseSinceTime(std::string_view text)
{
    namespace chrono = std::chrono;
    const auto year = digits(text, 4);
    const bool dash1 = take(text, "-");
    const auto month = digits(text, 2);
    const bool dash2 = take(text, "-");
    const auto day = digits(text, 2);
    const bool t = take(text, "Tt");
    const auto hour = digits(text, 2);
    const bool colon1 = take(text, ":");
    const auto minute = digits(text, 2);
    const bool colon2 = take(text, ":");
    const auto second = digits(text, 2);
    if (!year || !dash1 || !month || !dash2 || !day || !t || !hour || !colon1 || !minute || !colon2
        || !second)
        return std::nullopt;
    chrono::nanoseconds nanoseconds{};
    if (take(text, ".")) {
        const auto part = fraction(text);
        if (!part)
            return std::nullopt;
        nanoseconds = *part;
    }
    const auto offset = zone(text);
    const chrono::year_month_day date{chrono::year(*year), chrono::month(static_cast<unsigned>(*month)),
                                      chrono::day(static_cast<unsigned>(*day))};
    // Beyond these years nanoseconds since 1970 do not fit into 64 bits.
    const bool isInRange = *year >= 1700 && *year <= 2200;
    if (!offset || !text.empty() || !date.ok() || !isInRange || *hour > 23 || *minute > 59 || *second > 60)
        return std::nullopt;
    return chrono::sys_days(date) + chrono::hours(*hour) + chrono::minutes(*minute) + chrono::seconds(*second)
        + nanoseconds - *offset;
}

Result<LogOptions> parseLogOptions(const ServerRequest &request, SystemTime now)
{
    LogOptions options;
    options.follow = isTrue(request, "follow");
    options.previous = isTrue(request, "previous");
    options.timestamps = isTrue(request, "timestamps");
    options.stream = request.queryValue("stream").value_or("");
    const auto tail = number(request, "tailLines", 0);
    if (!tail)
        return tl::unexpected(tail.error());
    options.tailLines = *tail;
    const auto limit = number(request, "limitBytes", 1);
    if (!limit)
        return tl::unexpected(limit.error());
    options.limitBytes = *limit;
    const auto seconds = number(request, "sinceSeconds", 1);
    if (!seconds)
        return tl::unexpected(seconds.error());
    if (*seconds) {
        constexpr std::int64_t longest = std::int64_t{100} * 365 * 24 * 3600; // more than a log is old
        options.since = now - std::chrono::seconds(std::min(**seconds, longest));
    }
    if (const auto text = request.queryValue("sinceTime"); text && !text->empty()) {
        options.since = parseSinceTime(*text);
        if (!options.since)
            return fail(ErrorCode::InvalidArgument, "sinceTime='" + text->substr(0, 100) + "' is no time");
    }
    return options;
}

Result<ExecOptions> parseExecOptions(const ServerRequest &request, bool isAttach)
{
    ExecOptions options;
    options.hasStdin = isTrue(request, "input");
    options.hasStdout = isTrue(request, "output");
    options.hasStderr = isTrue(request, "error");
    options.tty = isTrue(request, "tty");
    if (options.tty && options.hasStderr)
        return fail(ErrorCode::InvalidArgument, "tty and stderr cannot both be true");
    if (!options.hasStdin && !options.hasStdout && !options.hasStderr)
        return fail(ErrorCode::InvalidArgument, "you must specify at least 1 of stdin, stdout, stderr");
    if (isAttach)
        return options;
    options.command = request.queryValues("command");
    if (options.command.empty() || options.command.front().empty())
        return fail(ErrorCode::InvalidArgument, "you must specify a command to execute");
    return options;
}

std::optional<std::string> negotiated(const ServerRequest &request, std::string_view name,
                                      std::span<const std::string_view> accepted)
{
    const std::vector<std::string> values = listed(request, name);
    for (const std::string_view protocol : accepted) {
        if (std::find(values.begin(), values.end(), protocol) != values.end())
            return std::string(protocol);
    }
    return std::nullopt;
}

std::string offered(const ServerRequest &request, std::string_view name)
{
    std::string text;
    for (const std::string &value : listed(request, name))
        text += (text.empty() ? "" : ", ") + value;
    return text.substr(0, 300);
}

} // namespace cluster::local
