#include "cluster/observe/prometheus_line.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace cluster::detail {

namespace {

bool isNameStart(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool isNamePart(char c)
{
    return isNameStart(c) || (c >= '0' && c <= '9');
}

bool isBlank(char c)
{
    return c == ' ' || c == '\t';
}

/// Reads one line from left to right; the first thing that is wrong ends it.
class LineReader
{
public:
    explicit LineReader(std::string_view line) : m_rest(line) {}

    tl::expected<MetricPoint, std::string> read();

private:
    void skipBlanks();
    bool take(char wanted);
    std::string_view name();
    std::string_view word();
    bool quoted(std::string &text);
    bool readLabels();
    bool readLabel();
    bool readNumbers();
    bool wrong(std::string what);

    std::string_view m_rest;
    MetricPoint m_point;
    std::string m_error;
};

bool LineReader::wrong(std::string what)
{
    m_error = std::move(what);
    return false;
}

void LineReader::skipBlanks()
{
    while (!m_rest.empty() && isBlank(m_rest.front()))
        m_rest.remove_prefix(1);
}

bool LineReader::take(char wanted)
{
    if (m_rest.empty() || m_rest.front() != wanted)
        return false;
    m_rest.remove_prefix(1);
    return true;
}

std::string_view LineReader::name()
{
    if (m_rest.empty() || !isNameStart(m_rest.front()))
        return {};
    const auto end = std::find_if_not(m_rest.begin(), m_rest.end(), isNamePart);
    const std::string_view found = m_rest.substr(0, static_cast<std::size_t>(end - m_rest.begin()));
    m_rest.remove_prefix(found.size());
    return found;
}

std::string_view LineReader::word()
{
    const auto end = std::find_if(m_rest.begin(), m_rest.end(), isBlank);
    const std::string_view found = m_rest.substr(0, static_cast<std::size_t>(end - m_rest.begin()));
    m_rest.remove_prefix(found.size());
    return found;
}

bool LineReader::quoted(std::string &text)
{
    while (!m_rest.empty()) {
        const char c = m_rest.front();
        m_rest.remove_prefix(1);
        if (c == '"')
            return true;
        if (c != '\\' || m_rest.empty()) {
            text += c;
            continue;
        }
        const char escaped = m_rest.front();
        m_rest.remove_prefix(1);
        if (escaped == 'n') {
            text += '\n';
            continue;
        }
        if (escaped != '\\'
            && escaped != '"') // not an escape of the format: the server meant the backslash itself
            text += '\\';
        text += escaped;
    }
    return wrong("a quoted text has no end");
}

bool LineReader::readLabel()
{
    std::string labelName;
    if (take('"')) {
        if (!quoted(labelName))
            return false;
        skipBlanks();
        if (m_point.name.empty() && (m_rest.empty() || m_rest.front() != '=')) { // {"metric.name", label="…"}
            m_point.name = std::move(labelName);
            return true;
        }
    } else {
        labelName = std::string(name());
    }
    if (labelName.empty())
        return wrong("a label has no name");
    skipBlanks();
    if (!take('='))
        return wrong("no '=' after the label " + labelName);
    skipBlanks();
    if (!take('"'))
        return wrong("the value of the label " + labelName + " is not quoted");
    std::string value;
    if (!quoted(value))
        return false;
    m_point.labels.emplace_back(std::move(labelName), std::move(value));
    return true;
}

bool LineReader::readLabels()
{
    while (true) {
        skipBlanks();
        if (take('}'))
            break;
        if (!readLabel())
            return false;
        skipBlanks();
        if (take(','))
            continue;
        if (take('}'))
            break;
        return wrong("no ',' or '}' after a label");
    }
    std::sort(m_point.labels.begin(), m_point.labels.end());
    const auto sameName = [](const auto &left, const auto &right) { return left.first == right.first; };
    const auto twice = std::adjacent_find(m_point.labels.begin(), m_point.labels.end(), sameName);
    return twice == m_point.labels.end() || wrong("the label " + twice->first + " is there twice");
}

bool LineReader::readNumbers()
{
    skipBlanks();
    const std::string_view valueText = word();
    const auto value = parseMetricNumber(valueText);
    if (!value)
        return wrong(valueText.empty() ? "no value"
                                       : "not a number: " + std::string(valueText.substr(0, 40)));
    m_point.value = *value;
    skipBlanks();
    if (m_rest.empty() || m_rest.front() == '#')
        return true;
    const std::string_view stampText = word();
    m_point.timestamp = parseMetricNumber(stampText);
    if (!m_point.timestamp)
        return wrong("not a timestamp: " + std::string(stampText.substr(0, 40)));
    skipBlanks();
    return m_rest.empty() || m_rest.front() == '#' || wrong("unexpected text after the timestamp");
}

tl::expected<MetricPoint, std::string> LineReader::read()
{
    m_point.name = std::string(name());
    skipBlanks();
    if (take('{') && !readLabels())
        return tl::unexpected(m_error);
    if (m_point.name.empty())
        return tl::unexpected(std::string("no metric name"));
    if (!readNumbers())
        return tl::unexpected(m_error);
    return std::move(m_point);
}

} // namespace

std::optional<double> parseMetricNumber(std::string_view text)
{
    if (!text.empty() && text.front() == '+')
        text.remove_prefix(1);
    double value = 0;
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || stop != end)
        return std::nullopt;
    if (error == std::errc::result_out_of_range) // 1e400 is infinite enough
        return text.front() == '-' ? -std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::infinity();
    if (error != std::errc())
        return std::nullopt;
    return value;
}

tl::expected<MetricPoint, std::string> parsePoint(std::string_view line)
{
    return LineReader(line).read();
}

} // namespace cluster::detail
