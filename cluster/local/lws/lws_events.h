#pragma once

#include "cluster/kube/kube_client.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cluster::local {

/// An events.k8s.io/v1 Event to come.
struct LwsEvent
{
    nlohmann::json regarding; ///< the object
    nlohmann::json related; ///< another one; null: none
    std::string reason, action, note;
    bool isWarning = false;
};

/// What is to be written for events, with the folding of the controllers' own recorder: of equal ones (type,
/// reason, action and both objects in the same version, whatever the note) the first is made, the second
/// gives it a series, further ones are counted and written when six minutes went by without another. For one
/// thread.
class EventFolding
{
public:
    using Time = std::chrono::system_clock::time_point;

    explicit EventFolding(std::string instance) : m_instance(std::move(instance)) {}

    struct Write
    {
        ResourcePath path;
        nlohmann::json body;
        bool isPatch = false; ///< a merge patch; else a new object
    };
    [[nodiscard]] std::optional<Write> add(const LwsEvent &event, Time now);
    /// Series that are over, and what is still to be written of them.
    [[nodiscard]] std::vector<Write> finish(Time now);

private:
    struct Series
    {
        ResourcePath path;
        int count = 1, written = 1;
        Time last;
    };
    [[nodiscard]] static Write seriesWrite(Series &series);

    const std::string m_instance;
    std::map<std::string, Series> m_series;
};

/// Writes them in their order on a thread of its own. Losing one is no error. Any thread may record.
class LwsEvents
{
public:
    /// \param instance  "leaderworkerset-HOST". `client` must outlive it.
    LwsEvents(KubeClient &client, std::string instance);
    ~LwsEvents(); ///< What is still waiting is dropped.
    LwsEvents(const LwsEvents &) = delete;
    LwsEvents &operator=(const LwsEvents &) = delete;

    void record(LwsEvent event);

private:
    void run(const CancelToken &cancel);
    void write(const EventFolding::Write &write, const CancelToken &cancel);

    KubeClient &m_client;
    EventFolding m_folding; ///< the thread's own
    std::mutex m_mutex; ///< guards m_waiting
    std::condition_variable_any m_changed;
    std::deque<LwsEvent> m_waiting;
    std::jthread m_thread; ///< last: it uses the others
};

} // namespace cluster::local
