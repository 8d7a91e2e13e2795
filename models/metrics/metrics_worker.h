#pragma once

#include "cluster/base/result.h"
#include "cluster/observe/metric_poller.h"
#include "models/metrics/chart_data.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace models {
/// The history file, shared by polls and look-ups that may run at once. Opened at first use; a file that
/// can't be opened costs the history, not the live charts.
class MetricsStore
{
public:
    explicit MetricsStore(std::string path);
    ~MetricsStore();

    cluster::Status write(const std::string &endpoint, const cluster::Scrape *scrape,
                          cluster::SampleTime time);
    /// One list for each ChartMetric, in its order.
    cluster::Result<std::vector<std::vector<cluster::ChartPoint>>>
    read(const std::string &endpoint, cluster::SampleTime from, cluster::SampleTime to,
         std::chrono::milliseconds step, const std::stop_token &stop);

private:
    struct State;
    cluster::Status open();

    std::string m_path;
    std::mutex m_mutex; // Guards m_state: SQLite's object is used by one thread at a time
    std::unique_ptr<State> m_state;
};

/// What one poll brought, as values that the GUI thread can take.
struct PollOutcome
{
    cluster::SampleTime time{};
    cluster::ChartValues values;
    std::optional<cluster::Error> failure; ///< Then nothing else but `time` is set
    std::string storeFailure; ///< The history could not be written; the charts live on
    cluster::Liveness liveness = cluster::Liveness::Unknown;
    std::string livenessText;
    std::vector<std::string> modelNames; ///< Of the whole page, also of models that are left out
    std::string product;
    bool wasReset = false; ///< Counters began again: the server was restarted
    struct FieldRemark
    {
        std::string missing; ///< Why the page does not have it; empty if it does
        std::string renamed;
    };
    std::vector<FieldRemark> remarks; ///< By ChartMetric
};

struct WorkerOptions
{
    std::string endpoint; ///< Key of the history
    std::string url; ///< Of the page: http://host:port/metrics
    std::string bearer; ///< Empty: no Authorization header
    std::string model; ///< Only series of this model_name (and those without one); empty: all
    std::chrono::milliseconds interval{2000};
    std::chrono::milliseconds timeout{5000};
};

/// The values of the label model_name in a page, sorted, each once.
std::vector<std::string> modelNamesIn(const std::string &page);

/// The page without the lines of other models. Lines without a model_name stay: they tell of the whole
/// server.
std::string pageOfModel(const std::string &page, const std::string &model);

/// The blocking half of MetricsController for one endpoint. poll() runs on pool threads, one call at a time.
class MetricsWorker
{
public:
    MetricsWorker(WorkerOptions options, std::shared_ptr<MetricsStore> store);
    ~MetricsWorker();

    PollOutcome poll(cluster::SampleTime now, std::stop_token stop);

private:
    struct State;
    std::unique_ptr<State> m_state;
};
} // namespace models
