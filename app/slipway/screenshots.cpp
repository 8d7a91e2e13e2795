#include "app/slipway/screenshots.h"

#include "models/engine/local_engine.h"
#include "ui/shell/main_window.h"
#include "ui/shell/page.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QDir>
#include <QPixmap>
#include <QTimer>
#include <cstdio>

namespace app {

namespace {
constexpr auto EngineLimit = std::chrono::seconds(180); // loading and answering, on a busy machine
constexpr auto SettleTime = std::chrono::milliseconds(2500); // probes answer, charts get their first points
constexpr auto RepaintTime = std::chrono::milliseconds(400);
} // namespace

Screenshots::Screenshots(ui::MainWindow &window, ui::Theme &theme, models::LocalEngine &engine, QString dir,
                         Prepare prepare)
    : QObject(&window), m_window(window), m_theme(theme), m_engine(engine), m_dir(std::move(dir)),
      m_prepare(std::move(prepare))
{
}

void Screenshots::start()
{
    m_window.resize(1440, 900);
    const auto begin = [this] {
        if (!std::exchange(m_hasStarted, true))
            QTimer::singleShot(SettleTime, this, &Screenshots::next);
    };
    using State = models::LocalEngine::State;
    const auto look = [this, begin] {
        if (m_engine.state() == State::Failed)
            begin(); // a picture of the banner, then
        else if (m_engine.state() == State::Ready && m_prepare)
            std::exchange(m_prepare, {})(begin);
    };
    connect(&m_engine, &models::LocalEngine::stateChanged, this, look);
    look();
    QTimer::singleShot(EngineLimit, this, begin);
}

void Screenshots::next()
{
    const auto &pages = m_window.pages();
    if (m_step >= pages.size() * 2) {
        QApplication::exit(0);
        return;
    }
    m_theme.setMode(m_step % 2 == 0 ? ui::Theme::Mode::Dark : ui::Theme::Mode::Light);
    m_window.showPage(pages[m_step / 2]);
    QTimer::singleShot(RepaintTime, this, &Screenshots::take);
}

void Screenshots::take()
{
    const QString theme = m_step % 2 == 0 ? QStringLiteral("dark") : QStringLiteral("light");
    const QString path = QDir(m_dir).filePath(
        QStringLiteral("%1-%2.png").arg(m_window.pages()[m_step / 2]->traits().id, theme));
    if (!m_window.grab().save(path)) {
        std::fprintf(stderr,
                     "slipway: the picture %s could not be written: is the folder there, and not full?\n",
                     qUtf8Printable(path));
        QApplication::exit(1);
        return;
    }
    std::printf("%s\n", qUtf8Printable(path));
    ++m_step;
    next();
}

} // namespace app
