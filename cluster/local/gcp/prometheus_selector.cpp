#include "cluster/local/gcp/prometheus_selector.h"

#include <charconv>
#include <cmath>
#include <regex>

namespace cluster::local {

namespace {

constexpr std::size_t kLongest = 4096; // of a query

bool isNameStart(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool isNamePart(char c)
{
    return isNameStart(c) || (c >= '0' && c <= '9');
}

class Reader
{
public:
    explicit Reader(std::string_view text) : m_text(text) {}

    void skipBlanks()
    {
        while (m_at < m_text.size()
               && std::string_view(" \t\r\n").find(m_text[m_at]) != std::string_view::npos)
            ++m_at;
    }
    [[nodiscard]] bool atEnd() const { return m_at == m_text.size(); }
    [[nodiscard]] char peek() const { return atEnd() ? '\0' : m_text[m_at]; }
    bool take(std::string_view word)
    {
        if (!m_text.substr(m_at).starts_with(word))
            return false;
        m_at += word.size();
        return true;
    }
    std::string name()
    {
        const std::size_t start = m_at;
        if (isNameStart(peek()))
            while (m_at < m_text.size() && isNamePart(m_text[m_at]))
                ++m_at;
        return std::string(m_text.substr(start, m_at - start));
    }
    std::string until(char end)
    {
        const auto found = m_text.find(end, m_at);
        if (found == std::string_view::npos)
            return {};
        std::string text(m_text.substr(m_at, found - m_at));
        m_at = found + 1;
        return text;
    }
    /// A string in any of the three quotes. False where it has no end or an unknown escape.
    bool quoted(std::string &out)
    {
        const char quote = peek();
        if (quote != '"' && quote != '\'' && quote != '`')
            return false;
        for (++m_at; m_at < m_text.size() && m_text[m_at] != quote; ++m_at) {
            char c = m_text[m_at];
            if (c == '\\' && quote != '`') {
                if (++m_at == m_text.size())
                    return false;
                switch (m_text[m_at]) {
                case 'n':
                    c = '\n';
                    break;
                case 't':
                    c = '\t';
                    break;
                case '\\':
                case '"':
                case '\'':
                    c = m_text[m_at];
                    break;
                default:
                    return false;
                }
            }
            out += c;
        }
        if (atEnd())
            return false;
        ++m_at;
        return true;
    }

private:
    std::string_view m_text;
    std::size_t m_at = 0;
};

tl::unexpected<Error> malformed(const std::string &what)
{
    return fail(ErrorCode::InvalidArgument, "invalid parameter \"query\": parse error: " + what);
}

tl::unexpected<Error> notASelector()
{
    return fail(
        ErrorCode::Unimplemented,
        "this is more than a plain selector, which needs a Prometheus: install one (Debian: prometheus), "
        "and the local target starts it. Without it only metric{label=\"value\"}[range] is answered.");
}

Status checkPattern(const std::string &pattern)
{
    try {
        static_cast<void>(std::regex(pattern));
        return {};
    } catch (const std::regex_error &) {
        return malformed("'" + pattern + "' is no regular expression");
    }
}

Status readMatcher(Reader &reader, std::vector<LabelMatcher> &matchers)
{
    LabelMatcher matcher;
    if (reader.quoted(matcher.value)) { // {"metric.name"}
        matcher.label = "__name__";
        matchers.push_back(std::move(matcher));
        return {};
    }
    matcher.label = reader.name();
    reader.skipBlanks();
    if (matcher.label.empty())
        return malformed("a label's name was expected");
    if (reader.take("=~"))
        matcher.op = LabelMatcher::Op::Matches;
    else if (reader.take("!~"))
        matcher.op = LabelMatcher::Op::NotMatches;
    else if (reader.take("!="))
        matcher.op = LabelMatcher::Op::NotEqual;
    else if (!reader.take("="))
        return malformed("one of =, !=, =~ and !~ was expected behind '" + matcher.label + "'");
    reader.skipBlanks();
    if (!reader.quoted(matcher.value))
        return malformed("a quoted value was expected for '" + matcher.label + "'");
    const bool isPattern
        = matcher.op == LabelMatcher::Op::Matches || matcher.op == LabelMatcher::Op::NotMatches;
    if (isPattern) {
        if (const Status right = checkPattern(matcher.value); !right)
            return right;
    }
    matchers.push_back(std::move(matcher));
    return {};
}

Status readMatchers(Reader &reader, std::vector<LabelMatcher> &matchers)
{
    for (reader.skipBlanks(); !reader.take("}"); reader.skipBlanks()) {
        if (const Status read = readMatcher(reader, matchers); !read)
            return read;
        reader.skipBlanks();
        if (!reader.take(",") && reader.peek() != '}')
            return malformed("'}' or ',' was expected");
    }
    return {};
}

} // namespace

bool LabelMatcher::fits(const std::string &text) const
{
    switch (op) {
    case Op::Equal:
        return text == value;
    case Op::NotEqual:
        return text != value;
    default:
        return std::regex_match(text, std::regex(value)) == (op == Op::Matches);
    }
}

Result<std::chrono::milliseconds> parsePrometheusDuration(std::string_view text)
{
    const auto malformedDuration
        = fail(ErrorCode::InvalidArgument, "cannot parse '" + std::string(text) + "' to a valid duration");
    const char *at = text.data();
    const char *const end = at + text.size();
    double total = 0;
    if (at == end || text.size() > 40)
        return malformedDuration;
    while (at != end) {
        double number = 0;
        const auto [next, failure] = std::from_chars(at, end, number, std::chars_format::fixed);
        if (failure != std::errc{} || !std::isfinite(number) || number < 0)
            return malformedDuration;
        const std::string_view rest(next, static_cast<std::size_t>(end - next));
        const std::pair<std::string_view, double> units[] = {
            {"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}, {"w", 6.048e8}, {"y", 3.1536e10}};
        double unit = rest.empty() && at == text.data() ? 1e3 : 0;
        at = next;
        for (const auto &[name, milliseconds] : units) {
            if (rest.starts_with(name)) {
                unit = milliseconds;
                at += name.size();
                break;
            }
        }
        total += number * unit;
        if (unit == 0 || total > 3.1536e12)
            return malformedDuration;
    }
    return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

Result<PrometheusSelector> parseSelector(std::string_view text)
{
    if (text.size() > kLongest)
        return malformed("the query is too long");
    Reader reader(text);
    PrometheusSelector selector;
    reader.skipBlanks();
    const std::string metric = reader.name();
    if (!metric.empty())
        selector.matchers.push_back({"__name__", LabelMatcher::Op::Equal, metric});
    reader.skipBlanks();
    if (reader.take("{")) {
        if (const Status read = readMatchers(reader, selector.matchers); !read)
            return tl::unexpected(read.error());
    }
    if (selector.matchers.empty())
        return reader.atEnd() ? malformed("no expression found in input") : notASelector();
    reader.skipBlanks();
    if (reader.take("[")) {
        const auto range = parsePrometheusDuration(reader.until(']'));
        if (!range || range->count() == 0)
            return malformed("the range is no duration above 0");
        selector.range = *range;
    }
    reader.skipBlanks();
    if (reader.take("offset ")) {
        reader.skipBlanks();
        std::string duration;
        while (!reader.atEnd() && reader.peek() != ' ') {
            duration += reader.peek();
            reader.take(duration.substr(duration.size() - 1));
        }
        const auto offset = parsePrometheusDuration(duration);
        if (!offset)
            return malformed("the offset is no duration");
        selector.offset = *offset;
    }
    reader.skipBlanks();
    if (!reader.atEnd())
        return notASelector();
    return selector;
}

} // namespace cluster::local
