#include "models/chat/answer_rate.h"

#include <algorithm>

namespace models {
namespace {

constexpr int maxGaps = 500;

double seconds(AnswerRate::TimePoint from, AnswerRate::TimePoint to)
{
    return std::chrono::duration<double>(to - from).count();
}

} // namespace

void AnswerRate::begin(TimePoint now)
{
    *this = AnswerRate();
    m_begin = now;
}

void AnswerRate::add(std::optional<qint64> exact, qint64 pieces, TimePoint now)
{
    const qint64 tokens = std::max(m_tokens, exact.value_or(pieces));
    m_isExact = exact.has_value();
    if (tokens == m_tokens)
        return;
    if (!m_ttft) {
        m_ttft = std::chrono::duration_cast<Duration>(now - m_begin);
        m_first = now;
        m_sampleBegin = now;
        m_sampleTokens = tokens;
    } else {
        if (m_gaps.size() >= maxGaps)
            m_gaps.removeFirst();
        m_gaps.append(static_cast<int>(std::chrono::duration_cast<Duration>(now - m_last).count()));
    }
    m_tokens = tokens;
    m_last = now;
    if (now - m_sampleBegin < m_sampleLength)
        return;
    m_samples.append(static_cast<double>(tokens - m_sampleTokens) / seconds(m_sampleBegin, now));
    m_sampleBegin = now;
    m_sampleTokens = tokens;
    if (m_samples.size() > maxSamples) {
        for (int i = 0; i + 1 < m_samples.size(); i += 2)
            m_samples[i / 2] = (m_samples[i] + m_samples[i + 1]) / 2;
        m_samples.resize(m_samples.size() / 2);
        m_sampleLength *= 2;
    }
}

std::optional<double> AnswerRate::mean() const
{
    if (!m_ttft || m_tokens < 2 || m_last <= m_first)
        return std::nullopt;
    return static_cast<double>(m_tokens - 1) / seconds(m_first, m_last);
}

AnswerRate::Duration AnswerRate::gapP99() const
{
    if (m_gaps.isEmpty())
        return {};
    QVector<int> sorted = m_gaps;
    const auto at = sorted.begin() + (sorted.size() - 1) * 99 / 100;
    std::nth_element(sorted.begin(), at, sorted.end());
    return Duration(*at);
}

} // namespace models
