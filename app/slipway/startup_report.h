#pragma once

#include <QObject>

class QWidget;

namespace app {

/// How long it took from the start of the process to the first picture of the window on the screen, and the
/// memory it held then. Written as one line of JSON to standard output, for the benchmark.
class StartupReport : public QObject
{
    Q_OBJECT

public:
    /// Reports once `window` has painted for the first time, then quits the program.
    explicit StartupReport(QWidget &window);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void write();

    bool m_isDone = false;
};

} // namespace app
