#include "cluster/observe/prometheus_text.h"

#include "cluster/observe/prometheus_line.h"
#include <algorithm>

namespace cluster {

namespace {

constexpr std::size_t mostProblems = 100;

MetricType typeByName(std::string_view name)
{
    constexpr std::pair<std::string_view, MetricType> names[] = {
        {"counter", MetricType::Counter},     {"gauge", MetricType::Gauge},
        {"histogram", MetricType::Histogram}, {"gaugehistogram", MetricType::GaugeHistogram},
        {"summary", MetricType::Summary},     {"info", MetricType::Info},
        {"stateset", MetricType::StateSet},
    };
    for (const auto &[text, type] : names) {
        if (text == name)
            return type;
    }
    return MetricType::Unknown;
}

std::string_view firstWord(std::string_view &rest)
{
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    if (!rest.empty())
        rest.remove_prefix(1);
    return word;
}

std::string unescapedHelp(std::string_view text)
{
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            ++i;
            if (text[i] == 'n') {
                plain += '\n';
                continue;
            }
            if (text[i] != '\\' && text[i] != '"')
                plain += '\\';
        }
        plain += text[i];
    }
    return plain;
}

std::string_view withoutQuotes(std::string_view name)
{
    return name.size() >= 2 && name.front() == '"' && name.back() == '"' ? name.substr(1, name.size() - 2)
                                                                         : name;
}

/// Grows the page line by line.
class PageReader
{
public:
    void readLine(std::string_view line);
    MetricPage finish();

private:
    void readComment(std::string_view rest);
    void readPoint(std::string_view line);
    void problem(std::string message);
    MetricFamily &familyNamed(std::string_view name);

    MetricPage m_page;
    std::unordered_map<std::string, std::size_t> m_families;
    std::vector<std::size_t> m_stamped; ///< Points whose timestamp still has the unit of the page.
    int m_line = 0;
};

void PageReader::problem(std::string message)
{
    if (m_page.problems.size() < mostProblems)
        m_page.problems.push_back({m_line, std::move(message)});
}

MetricFamily &PageReader::familyNamed(std::string_view name)
{
    const auto [place, isNew] = m_families.try_emplace(std::string(name), m_page.families.size());
    if (isNew)
        m_page.families.push_back({std::string(name), MetricType::Unknown, {}, {}});
    return m_page.families[place->second];
}

void PageReader::readComment(std::string_view rest)
{
    const std::string_view keyword = firstWord(rest);
    if (keyword == "EOF") {
        m_page.isOpenMetrics = true;
        return;
    }
    if (keyword != "HELP" && keyword != "TYPE" && keyword != "UNIT")
        return;
    const std::string_view name = withoutQuotes(firstWord(rest));
    if (name.empty())
        return problem("no metric name after " + std::string(keyword));
    MetricFamily &family = familyNamed(name);
    if (keyword == "HELP")
        family.help = unescapedHelp(rest);
    else if (keyword == "UNIT")
        family.unit = std::string(firstWord(rest));
    else
        family.type = typeByName(firstWord(rest));
}

void PageReader::readPoint(std::string_view line)
{
    auto point = detail::parsePoint(line);
    if (!point)
        return problem(std::move(point.error()));
    if (point->timestamp)
        m_stamped.push_back(m_page.points.size());
    m_page.index[point->name].push_back(m_page.points.size());
    m_page.points.push_back(std::move(*point));
}

void PageReader::readLine(std::string_view line)
{
    ++m_line;
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos)
        return;
    line.remove_prefix(start);
    if (line.front() == '#')
        readComment(line.substr(1));
    else
        readPoint(line);
}

MetricPage PageReader::finish()
{
    // Text format 0.0.4 counts milliseconds, OpenMetrics seconds; which one it was is known only at "# EOF".
    if (!m_page.isOpenMetrics) {
        for (const std::size_t i : m_stamped)
            *m_page.points[i].timestamp /= 1000.0;
    }
    return std::move(m_page);
}

} // namespace

std::optional<std::string_view> labelValue(const LabelSet &labels, std::string_view name)
{
    const auto found
        = std::find_if(labels.begin(), labels.end(), [name](const auto &one) { return one.first == name; });
    if (found == labels.end())
        return std::nullopt;
    return found->second;
}

std::string labelText(const LabelSet &labels)
{
    if (labels.empty())
        return {};
    std::string text = "{";
    for (const auto &[name, value] : labels) {
        if (text.size() > 1)
            text += ',';
        text += name;
        text += "=\"";
        for (const char c : value) {
            if (c == '\n') {
                text += "\\n";
                continue;
            }
            if (c == '\\' || c == '"')
                text += '\\';
            text += c;
        }
        text += '"';
    }
    return text + '}';
}

const std::vector<std::size_t> &MetricPage::find(std::string_view name) const
{
    static const std::vector<std::size_t> none;
    const auto found = index.find(std::string(name));
    return found == index.end() ? none : found->second;
}

const MetricFamily *MetricPage::family(std::string_view name) const
{
    const auto found = std::find_if(families.begin(), families.end(),
                                    [name](const auto &one) { return one.name == name; });
    return found == families.end() ? nullptr : &*found;
}

MetricPage parsePrometheusText(std::string_view text)
{
    PageReader reader;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        reader.readLine(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return reader.finish();
}

} // namespace cluster
