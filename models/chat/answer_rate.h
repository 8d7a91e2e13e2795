#pragma once

#include <QVector>
#include <chrono>
#include <optional>

namespace models {

/// Live numbers of one answer while it streams: time to first token, tokens, tokens per second over time.
/// The time is a parameter.
class AnswerRate
{
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::milliseconds;
    static constexpr int maxSamples = 240;

    void begin(TimePoint now);
    /// `exact`: tokens by the server's usage so far; `pieces`: chunks so far, used where it does not tell.
    void add(std::optional<qint64> exact, qint64 pieces, TimePoint now);

    [[nodiscard]] std::optional<Duration> ttft() const { return m_ttft; }
    [[nodiscard]] qint64 tokens() const { return m_tokens; }
    [[nodiscard]] bool isExact() const { return m_isExact; }
    /// Tokens per second over the whole answer after its first token; absent before the second.
    [[nodiscard]] std::optional<double> mean() const;
    /// Per quarter of a second; neighbours are joined when there get to be more than maxSamples.
    [[nodiscard]] const QVector<double> &samples() const { return m_samples; }
    /// Longest wait between batches so far that is not an outlier: the 99th percentile.
    [[nodiscard]] Duration gapP99() const;

private:
    TimePoint m_begin;
    TimePoint m_first;
    TimePoint m_last;
    TimePoint m_sampleBegin;
    Duration m_sampleLength{250};
    qint64 m_sampleTokens = 0;
    qint64 m_tokens = 0;
    bool m_isExact = false;
    std::optional<Duration> m_ttft;
    QVector<double> m_samples;
    QVector<int> m_gaps; // ms, the newest 500
};

} // namespace models
