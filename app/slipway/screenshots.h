#pragma once

#include <QObject>
#include <QString>
#include <functional>

namespace models {
class LocalEngine;
}

namespace ui {
class MainWindow;
class Theme;
} // namespace ui

namespace app {

/// Writes DIR/<page>-<theme>.png for each page at 1440x900, then quits. Waits for the local engine first and
/// has it answer (`prepare` calls back when it has), for a while: the pictures show something that works.
class Screenshots : public QObject
{
    Q_OBJECT

public:
    using Prepare = std::function<void(std::function<void()> done)>;

    Screenshots(ui::MainWindow &window, ui::Theme &theme, models::LocalEngine &engine, QString dir,
                Prepare prepare);

    void start();

private:
    void next();
    void take();

    ui::MainWindow &m_window;
    ui::Theme &m_theme;
    models::LocalEngine &m_engine;
    QString m_dir;
    Prepare m_prepare;
    int m_step = 0;
    bool m_hasStarted = false;
};

} // namespace app
