#include "engine/commandline/flag_values.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

namespace engine {
namespace {

using cluster::ErrorCode;
using cluster::fail;

cluster::Result<std::int64_t> within(std::int64_t value, const std::string &text, std::int64_t smallest,
                                     std::int64_t largest)
{
    if (value < smallest)
        return fail(ErrorCode::InvalidArgument,
                    "'" + text + "' is too small (at least " + std::to_string(smallest) + ")");
    if (value > largest)
        return fail(ErrorCode::InvalidArgument,
                    "'" + text + "' is too large (at most " + std::to_string(largest) + ")");
    return value;
}

/// Factor of a size letter, 0 for another one.
double factorOf(char letter)
{
    constexpr std::string_view decimal = "kmgt";
    constexpr std::string_view binary = "KMGT";
    if (const auto power = decimal.find(letter); power != std::string_view::npos)
        return std::pow(1000.0, static_cast<double>(power + 1));
    if (const auto power = binary.find(letter); power != std::string_view::npos)
        return std::pow(1024.0, static_cast<double>(power + 1));
    return 0;
}

} // namespace

cluster::Result<std::int64_t> parseInteger(const std::string &text, std::int64_t smallest,
                                           std::int64_t largest)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return fail(ErrorCode::InvalidArgument, "'" + text + "' is not an integer");
    return within(value, text, smallest, largest);
}

cluster::Result<std::int64_t> parseHumanInteger(const std::string &text, std::int64_t smallest,
                                                std::int64_t largest)
{
    const double factor = text.empty() ? 0 : factorOf(text.back());
    if (factor == 0)
        return parseInteger(text, smallest, largest);
    double number = 0;
    const char *last = text.data() + text.size() - 1;
    const auto [end, error] = std::from_chars(text.data(), last, number, std::chars_format::fixed);
    if (error != std::errc() || end != last)
        return fail(ErrorCode::InvalidArgument, "'" + text + "' is not an integer");
    const bool binary = text.back() < 'a';
    if (binary && number != std::floor(number))
        return fail(ErrorCode::InvalidArgument,
                    "'" + text + "': fractions go with decimal letters only (k, m, g, t)");
    const double value = std::round(number * factor);
    if (!(std::abs(value) < 9e18))
        return fail(ErrorCode::InvalidArgument, "'" + text + "' is too large");
    return within(static_cast<std::int64_t>(value), text, smallest, largest);
}

cluster::Result<HostPort> parseHostPort(const std::string &text)
{
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
        return fail(ErrorCode::InvalidArgument, "'" + text + "' is not HOST:PORT");
    const auto port = parseInteger(text.substr(colon + 1), 0, 65535);
    if (!port)
        return fail(ErrorCode::InvalidArgument,
                    "'" + text + "' is not HOST:PORT: the port " + port.error().message);
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    return HostPort{host, static_cast<std::uint16_t>(*port)};
}

cluster::Result<std::string> readChatTemplate(const std::string &fileOrText)
{
    std::ifstream file(fileOrText, std::ios::binary);
    if (file && file.peek() != std::ifstream::traits_type::eof()) {
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    if (fileOrText.find_first_of("{}\n") == std::string::npos)
        return fail(ErrorCode::InvalidArgument,
                    "The supplied chat template (" + fileOrText
                        + ") looks like a file path, but it can't be read or is empty");
    return fileOrText;
}

cluster::Result<std::string> readSecretFile(const std::string &path)
{
    std::ifstream file(path);
    if (!file)
        return fail(ErrorCode::NotFound, "cannot read '" + path + "'");
    std::string line;
    std::getline(file, line);
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos)
        return fail(ErrorCode::InvalidArgument, "'" + path + "' is empty");
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool isLoopback(const std::string &host)
{
    return host == "localhost" || host.starts_with("127.") || host == "::1";
}

std::vector<std::string> linesOf(const std::string &text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty())
            lines.push_back(line);
    }
    return lines;
}

} // namespace engine
