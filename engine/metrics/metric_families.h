#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Metric families as vLLM's Prometheus client keeps and writes them: text format 0.0.4, a `_created` family
/// after each counter, summary and histogram, labels sorted by name, series in order of their first use.
namespace engine::exposition {

/// Names with values, sorted by name.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A number as the Prometheus client of Python writes it: "17.0", "1.5e-05", "1.79604790186e+09", "+Inf",
/// "NaN".
[[nodiscard]] std::string numberText(double value);

/// Lines of one page.
class Page
{
public:
    void head(std::string_view name, std::string_view help, std::string_view type);
    void value(std::string_view name, const Labels &labels, double value);
    [[nodiscard]] std::string take() { return std::move(m_text); }

private:
    std::string m_text;
};

class Family
{
public:
    Family(std::string name, std::string help);
    virtual ~Family() = default;
    Family(const Family &) = delete;
    Family &operator=(const Family &) = delete;

    virtual void write(Page &page) const = 0;

protected:
    /// The gauges that tell when each series began; none if there is no series.
    template<typename Series>
    void writeCreated(Page &page, const std::deque<std::pair<Labels, Series>> &series) const;

    std::string m_name; ///< Without _total.
    std::string m_help;
};

/// Wall clock, Unix seconds.
[[nodiscard]] double unixNow();

/// Series by label set. A deque, so that references stay good.
template<typename Series>
class SeriesOf
{
public:
    template<typename... Arguments>
    Series &at(const Labels &labels, const Arguments &...arguments)
    {
        for (auto &[known, series] : m_series) {
            if (known == labels)
                return series;
        }
        return m_series.emplace_back(labels, Series(arguments...)).second;
    }
    [[nodiscard]] const std::deque<std::pair<Labels, Series>> &all() const { return m_series; }

private:
    std::deque<std::pair<Labels, Series>> m_series;
};

class Gauge : public Family
{
public:
    using Family::Family;
    double &at(const Labels &labels) { return m_series.at(labels, 0.0); }
    void write(Page &page) const override;

private:
    SeriesOf<double> m_series;
};

struct CounterValue
{
    double value = 0;
    double created = unixNow();
};

class Counter : public Family
{
public:
    using Family::Family;
    void declare(const Labels &labels) { m_series.at(labels); } ///< There from the start, at 0.
    void add(const Labels &labels, double amount) { m_series.at(labels).value += amount; }
    void write(Page &page) const override;

private:
    SeriesOf<CounterValue> m_series;
};

struct SummaryValue
{
    double count = 0;
    double sum = 0;
    double created = unixNow();
};

class Summary : public Family
{
public:
    using Family::Family;
    void observe(const Labels &labels, double value);
    void write(Page &page) const override;

private:
    SeriesOf<SummaryValue> m_series;
};

struct HistogramValue
{
    explicit HistogramValue(std::size_t bucketCount) : counts(bucketCount) {}
    std::vector<double> counts; ///< Of each bucket alone; the last one is +Inf.
    double sum = 0;
    double created = unixNow();
};

class Histogram : public Family
{
public:
    /// \param bounds  Ascending, without +Inf.
    Histogram(std::string name, std::string help, std::vector<double> bounds);
    void declare(const Labels &labels) { m_series.at(labels, m_bounds.size() + 1); }
    void observe(const Labels &labels, double value, int times = 1);
    void write(Page &page) const override;

private:
    std::vector<double> m_bounds;
    SeriesOf<HistogramValue> m_series;
};

} // namespace engine::exposition
