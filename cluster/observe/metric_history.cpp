#include "cluster/observe/metric_history.h"

#include "cluster/observe/sqlite_file.h"
#include <algorithm>
#include <unordered_map>

namespace cluster {

using detail::SqliteFile;
using detail::SqliteStatement;

namespace {

constexpr std::int64_t layoutVersion = 1; // in PRAGMA user_version
/// Several rows as one: the last moment, the weighted mean, least, greatest, weight and the coarsest step
/// (ms; 0 as scraped). Gaps have no value and no part in the mean.
const std::string summary = "max(time), sum(value * weight) / sum(CASE WHEN value IS NOT NULL THEN weight "
                            "END), min(low), max(high), "
                            "coalesce(sum(CASE WHEN value IS NOT NULL THEN weight END), 1)";
constexpr const char *layout = R"(
    CREATE TABLE IF NOT EXISTS series (
        id INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, metric TEXT NOT NULL, UNIQUE (endpoint, metric));
    CREATE TABLE IF NOT EXISTS sample (
        series INTEGER NOT NULL, time INTEGER NOT NULL, value REAL, low REAL, high REAL,
        weight INTEGER NOT NULL, step INTEGER NOT NULL,
        PRIMARY KEY (series, time)) WITHOUT ROWID;
    PRAGMA user_version = 1;
)";

const std::string reading = "reading the metrics history";
const std::string writing = "writing the metrics history";

std::int64_t milliseconds(SampleTime time)
{
    return time.time_since_epoch().count();
}

/// A silence longer than allowed becomes a gap right after the point before it.
void appendWithGaps(std::vector<ChartPoint> &points, const ChartPoint &point,
                    std::chrono::milliseconds gapAfter)
{
    const bool isSilent
        = gapAfter.count() > 0 && !points.empty() && point.time - points.back().time > gapAfter;
    if (isSilent && !points.back().isGap() && !point.isGap())
        points.push_back(ChartPoint::gap(points.back().time + std::chrono::milliseconds(1)));
    if (point.isGap() && (points.empty() || points.back().isGap()))
        return;
    points.push_back(point);
}

Status prepareLayout(SqliteFile &file)
{
    const std::string what = "opening the metrics history";
    if (auto done = file.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", what); !done)
        return done;
    const auto version = file.number("PRAGMA user_version", what);
    if (!version)
        return tl::unexpected(version.error());
    if (*version > layoutVersion) {
        return fail(ErrorCode::FailedPrecondition,
                    what + " failed: it was written by a newer version of the program (layout "
                        + std::to_string(*version) + ", this one knows " + std::to_string(layoutVersion)
                        + "); update the program or move the file away");
    }
    if (*version == layoutVersion)
        return {};
    return file.run("BEGIN IMMEDIATE;" + std::string(layout) + "COMMIT;", what);
}

} // namespace

struct MetricHistory::State
{
    SqliteFile file;
    SqliteStatement insert;
    std::unordered_map<std::string, std::int64_t>
        seriesIds; ///< By "metric endpoint"; emptied after an error.

    Result<std::int64_t> findSeries(const std::string &endpoint,
                                    ChartMetric metric) const; ///< 0: there is none.
    Result<std::int64_t> seriesFor(const std::string &endpoint, ChartMetric metric);
    Status insertRow(const HistoryRow &row);
    Status insertAll(const std::vector<HistoryRow> &rows);
};

Result<std::int64_t> MetricHistory::State::findSeries(const std::string &endpoint, ChartMetric metric) const
{
    auto select = file.prepare("SELECT id FROM series WHERE endpoint = ?1 AND metric = ?2", reading);
    if (!select)
        return tl::unexpected(select.error());
    select->bind(1, endpoint);
    select->bind(2, std::string(chartMetricFacts(metric).name));
    const auto row = select->step(reading);
    if (!row)
        return tl::unexpected(row.error());
    return *row ? select->integer(0) : 0;
}

Result<std::int64_t> MetricHistory::State::seriesFor(const std::string &endpoint, ChartMetric metric)
{
    const std::string key = std::string(chartMetricFacts(metric).name) + ' ' + endpoint;
    if (const auto known = seriesIds.find(key); known != seriesIds.end())
        return known->second;
    auto id = findSeries(endpoint, metric);
    if (id && *id == 0) {
        auto add = file.prepare("INSERT INTO series (endpoint, metric) VALUES (?1, ?2)", writing);
        if (!add)
            return tl::unexpected(add.error());
        add->bind(1, endpoint);
        add->bind(2, std::string(chartMetricFacts(metric).name));
        if (const auto done = add->step(writing); !done)
            return tl::unexpected(done.error());
        id = file.lastRowId();
    }
    if (id)
        seriesIds[key] = *id;
    return id;
}

Status MetricHistory::State::insertRow(const HistoryRow &row)
{
    const auto series = seriesFor(row.endpoint, row.metric);
    if (!series)
        return tl::unexpected(series.error());
    insert.bind(1, *series);
    insert.bind(2, milliseconds(row.point.time));
    insert.bind(3, row.point.value);
    insert.bind(4, row.point.low);
    insert.bind(5, row.point.high);
    insert.bind(6, std::int64_t{row.point.weight});
    if (const auto done = insert.step(writing); !done)
        return tl::unexpected(done.error());
    return {};
}

Status MetricHistory::State::insertAll(const std::vector<HistoryRow> &rows)
{
    if (auto begun = file.run("BEGIN IMMEDIATE", writing); !begun)
        return begun;
    for (const HistoryRow &row : rows) {
        if (auto done = insertRow(row); !done)
            return done;
    }
    return file.run("COMMIT", writing);
}

MetricHistory::MetricHistory(std::unique_ptr<State> state) : m_state(std::move(state)) {}
MetricHistory::MetricHistory(MetricHistory &&) noexcept = default;
MetricHistory &MetricHistory::operator=(MetricHistory &&) noexcept = default;
MetricHistory::~MetricHistory() = default;

Result<MetricHistory> MetricHistory::open(const std::string &path)
{
    auto file = SqliteFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    if (auto ready = prepareLayout(*file); !ready)
        return tl::unexpected(ready.error());
    auto insert = file->prepare("INSERT OR REPLACE INTO sample (series, time, value, low, high, weight, "
                                "step) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
                                writing);
    if (!insert)
        return tl::unexpected(insert.error());
    return MetricHistory(std::make_unique<State>(State{std::move(*file), std::move(*insert), {}}));
}

Status MetricHistory::write(const std::vector<HistoryRow> &rows)
{
    if (rows.empty())
        return {};
    Status done = m_state->insertAll(rows);
    if (!done) {
        // A failed COMMIT or a full disk may have rolled back already; then this fails, and that is fine.
        (void)m_state->file.run("ROLLBACK", writing);
        m_state->seriesIds.clear();
    }
    return done;
}

Result<std::vector<ChartPoint>> MetricHistory::read(const HistoryQuery &query) const
{
    const auto series = m_state->findSeries(query.endpoint, query.metric);
    if (!series)
        return tl::unexpected(series.error());
    const auto step = std::max<std::int64_t>(query.step.count(), 1);
    auto select
        = m_state->file.prepare("SELECT " + summary
                                    + ", max(step) FROM sample WHERE series = ?1 AND time BETWEEN ?2 AND ?3"
                                      " GROUP BY time / ?4 ORDER BY 1",
                                reading);
    if (!select)
        return tl::unexpected(select.error());
    select->bind(1, *series);
    select->bind(2, milliseconds(query.from));
    select->bind(3, milliseconds(query.to));
    select->bind(4, step);
    std::vector<ChartPoint> points;
    while (true) {
        const auto row = select->step(reading);
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return points;
        const SampleTime time{std::chrono::milliseconds(select->integer(0))};
        const int weight = std::max(1, static_cast<int>(select->integer(4)));
        const auto coarsest = std::max(query.step, std::chrono::milliseconds(select->integer(5)));
        const auto silence
            = query.gapAfter.count() > 0 ? std::max(query.gapAfter, 3 * coarsest) : query.gapAfter;
        appendWithGaps(points, {time, select->real(1), select->real(2), select->real(3), weight}, silence);
    }
}

Result<std::vector<std::string>> MetricHistory::endpoints() const
{
    auto select = m_state->file.prepare("SELECT DISTINCT endpoint FROM series ORDER BY endpoint", reading);
    if (!select)
        return tl::unexpected(select.error());
    std::vector<std::string> names;
    while (true) {
        const auto row = select->step(reading);
        if (!row)
            return tl::unexpected(row.error());
        if (!*row)
            return names;
        names.push_back(select->text(0));
    }
}

Status MetricHistory::forgetBefore(SampleTime time)
{
    m_state->seriesIds.clear();
    const std::string limit = std::to_string(milliseconds(time));
    auto done = m_state->file.run("BEGIN IMMEDIATE;"
                                  "DELETE FROM sample WHERE series IN (SELECT id FROM series) AND time < "
                                      + limit
                                      + ";DELETE FROM series WHERE NOT EXISTS"
                                        " (SELECT 1 FROM sample WHERE sample.series = series.id);"
                                        "COMMIT",
                                  "cleaning the metrics history");
    if (!done)
        (void)m_state->file.run("ROLLBACK", writing);
    return done;
}

Status MetricHistory::thinOutBefore(SampleTime time, std::chrono::milliseconds step)
{
    const std::int64_t size = std::max<std::int64_t>(step.count(), 1);
    const std::string ofStep = "time / " + std::to_string(size);
    // Whole steps only, and only those with more than one row: the rest is as coarse as wanted already.
    const std::string old = " WHERE time < " + std::to_string(milliseconds(time) / size * size);
    auto done = m_state->file.run("BEGIN IMMEDIATE;"
                                  "CREATE TEMP TABLE coarse (series, period, time, value, low, high, weight, "
                                  "PRIMARY KEY (series, period))"
                                  " WITHOUT ROWID;"
                                  "INSERT INTO coarse SELECT series, "
                                      + ofStep + ", " + summary + " FROM sample" + old + " GROUP BY series, "
                                      + ofStep
                                      + " HAVING count(*) > 1;"
                                        "DELETE FROM sample"
                                      + old + " AND (series, " + ofStep
                                      + ") IN (SELECT series, period FROM coarse);"
                                        "INSERT INTO sample SELECT series, time, value, low, high, weight, "
                                      + std::to_string(size) + " FROM coarse; DROP TABLE coarse; COMMIT",
                                  "thinning out the metrics history");
    if (!done)
        (void)m_state->file.run("ROLLBACK", writing);
    return done;
}

std::vector<HistoryRow> historyRows(const std::string &endpoint, const ChartValues &values)
{
    std::vector<HistoryRow> rows;
    for (std::size_t i = 0; i < chartMetricCount; ++i) {
        if (values[i])
            rows.push_back({endpoint, static_cast<ChartMetric>(i), *values[i]});
    }
    return rows;
}

std::vector<HistoryRow> historyGaps(const std::string &endpoint, SampleTime time)
{
    std::vector<HistoryRow> rows;
    for (std::size_t i = 0; i < chartMetricCount; ++i)
        rows.push_back({endpoint, static_cast<ChartMetric>(i), ChartPoint::gap(time)});
    return rows;
}

} // namespace cluster
