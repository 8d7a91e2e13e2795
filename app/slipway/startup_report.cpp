#include "app/slipway/startup_report.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QTimer>
#include <QWidget>
#include <QWindow>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace app {

namespace {

/// Milliseconds since this process was started, by the kernel's own record: the loader's work counts too.
double millisecondsSinceStart()
{
    QFile stat(QStringLiteral("/proc/self/stat"));
    if (!stat.open(QIODevice::ReadOnly))
        return -1;
    const QByteArray text = stat.readAll();
    // The name in brackets may hold blanks; field 22 (the start, in clock ticks since boot) is the 20th after
    // it.
    const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const double started = fields.value(19).toDouble() / double(::sysconf(_SC_CLK_TCK));
    return (double(now.tv_sec) + double(now.tv_nsec) / 1e9 - started) * 1000.0;
}

double residentMegabytes()
{
    QFile statm(QStringLiteral("/proc/self/statm"));
    if (!statm.open(QIODevice::ReadOnly))
        return -1;
    return statm.readAll().split(' ').value(1).toDouble() * double(::sysconf(_SC_PAGESIZE))
        / (1024.0 * 1024.0);
}

} // namespace

StartupReport::StartupReport(QWidget &window) : QObject(&window)
{
    window.windowHandle()->installEventFilter(this);
}

bool StartupReport::eventFilter(QObject *watched, QEvent *event)
{
    // The first expose makes the widgets paint and hands the picture to the display; what follows comes after
    // it.
    if (event->type() == QEvent::Expose && !m_isDone) {
        m_isDone = true;
        QTimer::singleShot(0, this, &StartupReport::write);
    }
    return QObject::eventFilter(watched, event);
}

void StartupReport::write()
{
    std::printf("{\"first_paint_ms\": %.0f, \"rss_mb\": %.1f}\n", millisecondsSinceStart(),
                residentMegabytes());
    std::fflush(stdout);
    QApplication::exit(0);
}

} // namespace app
