#include "engine/metrics/metric_families.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace engine::exposition {

namespace {

/// Shortest decimal digits that give the value back, and the exponent of the first one.
std::pair<std::string, int> shortestDigits(double value)
{
    std::array<char, 40> buffer{};
    const auto end
        = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific)
              .ptr;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    const std::size_t e = text.find('e');
    std::string digits(text.substr(0, e));
    digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
    int exponent = 0;
    std::string_view exponentText = text.substr(e + 1);
    if (exponentText.front() == '+')
        exponentText.remove_prefix(1);
    std::from_chars(exponentText.data(), exponentText.data() + exponentText.size(), exponent);
    return {digits, exponent};
}

std::string withoutTrailingZeros(std::string mantissa)
{
    mantissa.erase(mantissa.find_last_not_of("0.") + 1);
    return mantissa;
}

/// Python's repr of a positive number below 1e16 and not below 1e-4: plain notation with at least one
/// decimal.
std::string plainText(const std::string &digits, int exponent)
{
    const auto places = static_cast<int>(digits.size());
    if (exponent < 0)
        return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    if (places <= exponent + 1)
        return digits + std::string(static_cast<std::size_t>(exponent + 1 - places), '0') + ".0";
    return digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "."
        + digits.substr(static_cast<std::size_t>(exponent) + 1);
}

std::string exponentText(const std::string &digits, int exponent)
{
    const std::string mantissa = digits.size() > 1 ? digits.substr(0, 1) + "." + digits.substr(1) : digits;
    const std::string size = std::to_string(std::abs(exponent));
    return mantissa + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

void appendEscaped(std::string &text, std::string_view value, bool isLabel)
{
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '\\' || (isLabel && c == '"'))
            text += '\\';
        text += c;
    }
}

Labels with(const Labels &labels, const std::string &name, const std::string &value)
{
    Labels more = labels;
    const auto place = std::lower_bound(more.begin(), more.end(), std::pair(name, std::string()));
    more.insert(place, {name, value});
    return more;
}

} // namespace

std::string numberText(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    if (value == 0)
        return std::signbit(value) ? "-0.0" : "0.0";
    const auto [digits, exponent] = shortestDigits(std::abs(value));
    const std::string sign = value < 0 ? "-" : "";
    if (exponent < -4 || exponent >= 16)
        return sign + exponentText(digits, exponent);
    const std::string plain = plainText(digits, exponent);
    // The client switches to exponents as Go does, for positive numbers with more than six digits before the
    // point.
    if (value > 0 && exponent >= 6) {
        const std::string rest = plain.substr(1, static_cast<std::size_t>(exponent))
            + plain.substr(static_cast<std::size_t>(exponent) + 2);
        return withoutTrailingZeros(plain.substr(0, 1) + "." + rest) + "e+0" + std::to_string(exponent);
    }
    return sign + plain;
}

void Page::head(std::string_view name, std::string_view help, std::string_view type)
{
    m_text.append("# HELP ").append(name).append(" ");
    appendEscaped(m_text, help, false);
    m_text.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void Page::value(std::string_view name, const Labels &labels, double value)
{
    m_text += name;
    char separator = '{';
    for (const auto &[label, text] : labels) {
        m_text += separator;
        m_text.append(label).append("=\"");
        appendEscaped(m_text, text, true);
        m_text += '"';
        separator = ',';
    }
    if (!labels.empty())
        m_text += '}';
    m_text.append(" ").append(numberText(value)).append("\n");
}

double unixNow()
{
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Family::Family(std::string name, std::string help) : m_name(std::move(name)), m_help(std::move(help)) {}

template<typename Series>
void Family::writeCreated(Page &page, const std::deque<std::pair<Labels, Series>> &series) const
{
    if (series.empty())
        return;
    const std::string name = m_name + "_created";
    page.head(name, m_help, "gauge");
    for (const auto &[labels, one] : series)
        page.value(name, labels, one.created);
}

void Gauge::write(Page &page) const
{
    page.head(m_name, m_help, "gauge");
    for (const auto &[labels, value] : m_series.all())
        page.value(m_name, labels, value);
}

void Counter::write(Page &page) const
{
    const std::string name = m_name + "_total";
    page.head(name, m_help, "counter");
    for (const auto &[labels, one] : m_series.all())
        page.value(name, labels, one.value);
    writeCreated(page, m_series.all());
}

void Summary::observe(const Labels &labels, double value)
{
    SummaryValue &series = m_series.at(labels);
    series.count += 1;
    series.sum += value;
}

void Summary::write(Page &page) const
{
    page.head(m_name, m_help, "summary");
    for (const auto &[labels, one] : m_series.all()) {
        page.value(m_name + "_count", labels, one.count);
        page.value(m_name + "_sum", labels, one.sum);
    }
    writeCreated(page, m_series.all());
}

Histogram::Histogram(std::string name, std::string help, std::vector<double> bounds)
    : Family(std::move(name), std::move(help)), m_bounds(std::move(bounds))
{
}

void Histogram::observe(const Labels &labels, double value, int times)
{
    HistogramValue &series = m_series.at(labels, m_bounds.size() + 1);
    const auto bucket = std::lower_bound(m_bounds.begin(), m_bounds.end(), value) - m_bounds.begin();
    series.counts[static_cast<std::size_t>(bucket)] += times;
    series.sum += value * times;
}

void Histogram::write(Page &page) const
{
    page.head(m_name, m_help, "histogram");
    for (const auto &[labels, one] : m_series.all()) {
        double cumulative = 0;
        for (std::size_t i = 0; i < one.counts.size(); ++i) {
            const double bound = i < m_bounds.size() ? m_bounds[i] : std::numeric_limits<double>::infinity();
            cumulative += one.counts[i];
            page.value(m_name + "_bucket", with(labels, "le", numberText(bound)), cumulative);
        }
        page.value(m_name + "_count", labels, cumulative);
        page.value(m_name + "_sum", labels, one.sum);
    }
    writeCreated(page, m_series.all());
}

} // namespace engine::exposition
