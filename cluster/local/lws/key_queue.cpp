#include "cluster/local/lws/key_queue.h"

#include <algorithm>

namespace cluster::local {

namespace {

constexpr std::chrono::milliseconds firstWait{5};
constexpr std::chrono::seconds longestWait{1000};
constexpr int mostDoublings = 18; // 5 ms * 2^18 is more than the longest

} // namespace

void KeyQueue::addAfter(const Key &key, Clock::duration wait)
{
    const std::lock_guard lock(m_mutex);
    const Clock::time_point due = Clock::now() + wait;
    const auto [known, isNew] = m_due.emplace(key, due);
    if (!isNew)
        known->second = std::min(known->second, due);
    m_changed.notify_all();
}

void KeyQueue::retry(const Key &key)
{
    int failures = 0;
    {
        const std::lock_guard lock(m_mutex);
        failures = std::min(m_failures[key]++, mostDoublings);
    }
    const Clock::duration wait = firstWait * (1 << failures);
    addAfter(key, std::min<Clock::duration>(wait, longestWait));
}

void KeyQueue::forget(const Key &key)
{
    const std::lock_guard lock(m_mutex);
    m_failures.erase(key);
}

std::map<KeyQueue::Key, KeyQueue::Clock::time_point>::iterator KeyQueue::earliest()
{
    return std::ranges::min_element(m_due, {}, [](const auto &entry) { return entry.second; });
}

std::optional<KeyQueue::Key> KeyQueue::take(const CancelToken &cancel)
{
    std::unique_lock lock(m_mutex);
    while (!cancel.stop_requested()) {
        const auto next = earliest();
        if (next == m_due.end()) {
            m_changed.wait(lock, cancel, [this] { return !m_due.empty(); });
        } else if (next->second <= Clock::now()) {
            const Key key = next->first;
            m_due.erase(next);
            return key;
        } else {
            // Until it is due, or an earlier one comes.
            const Clock::time_point due = next->second;
            m_changed.wait_until(lock, cancel, due, [this, due] {
                const auto first = earliest();
                return first != m_due.end() && first->second < due;
            });
        }
    }
    return std::nullopt;
}

std::size_t KeyQueue::size() const
{
    const std::lock_guard lock(m_mutex);
    return m_due.size();
}

} // namespace cluster::local
