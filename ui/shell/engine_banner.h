#pragma once

#include <QObject>
#include <functional>

namespace models {
class EndpointList;
class LocalEngine;
class LogBuffer;
class ModelPull;
} // namespace models

namespace ui {

class Banner;

/// Tells, above the page, what is wrong with the local engine and offers the way out. Silent while another
/// target is the current one.
class EngineBanner : public QObject
{
    Q_OBJECT

public:
    /// All outlive this. `showLog` opens the dock with the log.
    EngineBanner(Banner &banner, models::EndpointList &endpoints, models::LocalEngine &engine,
                 models::LogBuffer &log, models::ModelPull &pull, std::function<void()> showLog,
                 QObject *parent = nullptr);

private:
    void update();
    void showPull();
    void showFailure();
    [[nodiscard]] QString details() const;

    Banner &m_banner;
    models::EndpointList &m_endpoints;
    models::LocalEngine &m_engine;
    models::LogBuffer &m_log;
    models::ModelPull &m_pull;
    std::function<void()> m_showLog;
};

} // namespace ui
