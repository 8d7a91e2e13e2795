#pragma once

#include "cluster/base/result.h"
#include "cluster/observe/time_series.h"
#include <memory>
#include <string>
#include <vector>

namespace cluster {

/// One value of one chart of one endpoint. A gap is a row as well: the absence of data is remembered.
struct HistoryRow
{
    std::string endpoint; ///< As the user names it; the base URL by default.
    ChartMetric metric = ChartMetric::RequestsRunning;
    ChartPoint point;
};

/// Rows of one scrape for MetricHistory::write(): the values that are there.
[[nodiscard]] std::vector<HistoryRow> historyRows(const std::string &endpoint, const ChartValues &values);
/// Rows that mark a failed scrape: a gap in each chart.
[[nodiscard]] std::vector<HistoryRow> historyGaps(const std::string &endpoint, SampleTime time);

struct HistoryQuery
{
    std::string endpoint;
    ChartMetric metric = ChartMetric::RequestsRunning;
    SampleTime from{};
    SampleTime to{}; ///< Included.
    std::chrono::milliseconds step{0}; ///< 0: every row; else one point for each step that has any row.
    std::chrono::milliseconds gapAfter{30000}; ///< Longer silence (nobody looked) is a gap; 0: never.
};

/// Chart values on disk, so that charts look back over restarts of the window.
///
/// Threads: one at a time (no lock inside); each thread may open its own on the same file (SQLite in WAL
/// mode). Errors:  all are values with the file's name in the text; DataLoss for a damaged file, Unavailable
/// for a locked
///          one, ResourceExhausted for a full disk, PermissionDenied. After an error the object can be used
///          on.
class MetricHistory
{
public:
    /// Creates file and folder as needed. A file of a newer layout is refused, not rewritten.
    static Result<MetricHistory> open(const std::string &path);
    MetricHistory(MetricHistory &&) noexcept;
    MetricHistory &operator=(MetricHistory &&) noexcept;
    ~MetricHistory();

    Status write(const std::vector<HistoryRow> &rows); ///< One transaction: all or none.
    [[nodiscard]] Result<std::vector<ChartPoint>> read(const HistoryQuery &query) const;
    [[nodiscard]] Result<std::vector<std::string>> endpoints() const;
    Status forgetBefore(SampleTime time); ///< Retention. Gives the space back to the file, not to the disk.
    /// Makes what is older coarser: one row for each step, with mean, least and greatest. A step of nothing
    /// but gaps stays a gap. Doing it again changes nothing.
    Status thinOutBefore(SampleTime time, std::chrono::milliseconds step);

private:
    struct State;
    explicit MetricHistory(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

} // namespace cluster
