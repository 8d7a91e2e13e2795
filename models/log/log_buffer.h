#pragma once

#include <QByteArray>
#include <QObject>
#include <vector>

namespace models {

/// Lines of text in one byte buffer with offsets: a million lines cost little more than their bytes. GUI
/// thread only. Bounded: when full, the oldest tenth goes. Line numbers here are 0 for the oldest that is
/// kept.
class LogBuffer : public QObject
{
    Q_OBJECT

public:
    explicit LogBuffer(qsizetype maxBytes = qsizetype(8) << 20, QObject *parent = nullptr);

    /// UTF-8 as it comes from a process, cut anywhere. A line counts once its newline is there; CR LF is one.
    /// Terminal colour sequences are taken out.
    void append(QByteArrayView bytes);
    /// A line of our own ("engine started"), also in the middle of an unfinished one of the process.
    void appendLine(const QString &line);
    /// What has come without a newline becomes a line: the process has ended.
    void finishLine();
    void clear();

    [[nodiscard]] int lineCount() const { return int(m_ends.size()); }
    /// Without its newline; valid until the next change.
    [[nodiscard]] QByteArrayView line(int index) const;
    [[nodiscard]] qsizetype byteCount() const { return m_bytes.size(); }
    /// The newest `count` lines, oldest first, joined by newlines.
    [[nodiscard]] QString tail(int count) const;

signals:
    /// Lines `first` to the last are new. `trimmed` lines were dropped from the front before: old numbers
    /// fall by it.
    void changed(int trimmed, int first);
    void cleared();

private:
    void addLine(QByteArrayView line);
    int trim();

    qsizetype m_maxBytes;
    QByteArray m_bytes;
    std::vector<qsizetype> m_ends; // one past each line's last byte
    QByteArray m_unfinished;
};

} // namespace models
