#pragma once

#include "cluster/base/cancellation.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cluster::local {

/// Which objects are to be looked at, each once however often it was named meanwhile. Any number of threads
/// may add; one takes.
class KeyQueue
{
public:
    using Clock = std::chrono::steady_clock;
    using Key = std::pair<std::string, std::string>; ///< namespace and name

    void add(const Key &key) { addAfter(key, Clock::duration::zero()); }
    /// An earlier time for the same key counts.
    void addAfter(const Key &key, Clock::duration wait);
    /// After a failure: waits 5 ms, then twice as long each time, at most 1000 s, as the real controllers do.
    void retry(const Key &key);
    /// It went well: the next failure waits 5 ms again.
    void forget(const Key &key);

    /// Waits for the next one that is due. Nothing once `cancel` was asked.
    [[nodiscard]] std::optional<Key> take(const CancelToken &cancel);
    [[nodiscard]] std::size_t size() const;

private:
    [[nodiscard]] std::map<Key, Clock::time_point>::iterator earliest();

    mutable std::mutex m_mutex; ///< guards the members below
    std::condition_variable_any m_changed;
    std::map<Key, Clock::time_point> m_due;
    std::map<Key, int> m_failures;
};

} // namespace cluster::local
