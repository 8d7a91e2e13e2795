#pragma once

#include <QElapsedTimer>
#include <QProcess>
#include <QRegularExpression>
#include <QTest>

/// A program that a test starts and listens to. Killed when it goes.
class ProcessUnderTest
{
public:
    ProcessUnderTest(const QString &program, const QStringList &arguments)
    {
        m_process.setProcessChannelMode(QProcess::MergedChannels);
        m_process.start(program, arguments);
    }

    ~ProcessUnderTest()
    {
        m_process.kill();
        m_process.waitForFinished();
    }

    /// The first match in what it has printed and will print; empty if it ends or the time is up.
    QRegularExpressionMatch waitForOutput(const QString &pattern, int milliseconds = 60'000)
    {
        const QRegularExpression expression(pattern);
        QElapsedTimer timer;
        timer.start();
        for (;;) {
            m_output += QString::fromUtf8(m_process.readAll());
            const auto match = expression.match(m_output, m_from);
            if (match.hasMatch()) {
                m_from = static_cast<int>(match.capturedEnd());
                return match;
            }
            const bool ended = m_process.state() == QProcess::NotRunning && m_process.bytesAvailable() == 0;
            if (ended || timer.elapsed() > milliseconds)
                return {};
            m_process.waitForReadyRead(200);
        }
    }

    bool waitForEnd(int milliseconds = 60'000)
    {
        const bool ended
            = m_process.state() == QProcess::NotRunning || m_process.waitForFinished(milliseconds);
        m_output += QString::fromUtf8(m_process.readAll());
        return ended;
    }

    [[nodiscard]] int exitCode() const
    {
        return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
    }
    [[nodiscard]] qint64 pid() const { return m_process.processId(); }
    [[nodiscard]] const QString &output() const { return m_output; }

private:
    QProcess m_process;
    QString m_output;
    int m_from = 0; ///< Searched so far.
};
