#include "models/log/log_buffer.h"

#include <algorithm>

namespace models {

namespace {

constexpr qsizetype MaxLineBytes
    = 64 * 1024; // a process that never ends its line must not grow without bound

/// ESC [ … letter: what terminals take as colours.
QByteArray withoutColours(QByteArrayView line)
{
    QByteArray plain;
    plain.reserve(line.size());
    for (qsizetype i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
            i += 2;
            while (i < line.size() && (line[i] < '@' || line[i] > '~'))
                ++i;
        } else if (line[i] == '\t' || static_cast<unsigned char>(line[i]) >= 0x20) {
            plain += line[i];
        }
    }
    return plain;
}

} // namespace

LogBuffer::LogBuffer(qsizetype maxBytes, QObject *parent) : QObject(parent), m_maxBytes(maxBytes) {}

QByteArrayView LogBuffer::line(int index) const
{
    const auto at = size_t(index);
    const qsizetype begin = index == 0 ? 0 : m_ends[at - 1];
    return QByteArrayView(m_bytes).sliced(begin, m_ends[at] - begin);
}

void LogBuffer::addLine(QByteArrayView line)
{
    if (line.endsWith('\r'))
        line.chop(1);
    m_bytes += withoutColours(line.first(qMin(line.size(), MaxLineBytes)));
    m_ends.push_back(m_bytes.size());
}

void LogBuffer::append(QByteArrayView bytes)
{
    const int before = lineCount();
    while (true) {
        const qsizetype newline = bytes.indexOf('\n');
        if (newline < 0)
            break;
        m_unfinished += bytes.first(newline);
        addLine(m_unfinished);
        m_unfinished.clear();
        bytes = bytes.sliced(newline + 1);
    }
    m_unfinished += bytes;
    if (m_unfinished.size() > MaxLineBytes) {
        addLine(m_unfinished);
        m_unfinished.clear();
    }
    if (lineCount() == before)
        return;
    const int trimmed = trim();
    emit changed(trimmed, qMax(0, before - trimmed));
}

void LogBuffer::appendLine(const QString &line)
{
    const int before = lineCount();
    addLine(line.toUtf8());
    const int trimmed = trim();
    emit changed(trimmed, qMax(0, before - trimmed));
}

void LogBuffer::finishLine()
{
    if (!m_unfinished.isEmpty())
        append("\n");
}

void LogBuffer::clear()
{
    m_bytes.clear();
    m_ends.clear();
    emit cleared();
}

int LogBuffer::trim()
{
    if (m_bytes.size() <= m_maxBytes)
        return 0;
    // Down to nine tenths of the limit, in whole lines: dropping a line at a time would move all bytes each
    // time.
    const qsizetype excess = m_bytes.size() - m_maxBytes / 10 * 9;
    const auto last = std::lower_bound(m_ends.begin(), m_ends.end(), excess);
    const qsizetype dropped = last == m_ends.end() ? m_bytes.size() : *last;
    const auto count = int(last - m_ends.begin()) + (last == m_ends.end() ? 0 : 1);
    m_bytes.remove(0, dropped);
    m_ends.erase(m_ends.begin(), m_ends.begin() + count);
    for (qsizetype &end : m_ends)
        end -= dropped;
    return count;
}

QString LogBuffer::tail(int count) const
{
    QStringList lines;
    for (int i = qMax(0, lineCount() - count); i < lineCount(); ++i)
        lines << QString::fromUtf8(line(i));
    return lines.join(u'\n');
}

} // namespace models
