#pragma once

#include "cluster/net/http_client.h"
#include "models/bridge/job_runner.h"
#include "models/engine/endpoint_list.h"
#include "models/engine/endpoint_probe.h"
#include "models/engine/local_engine.h"
#include "models/engine/model_pull.h"
#include "models/engine/secret_store.h"
#include "models/log/log_buffer.h"
#include "ui/theme/theme.h"

#include <QSettings>

namespace app {

/// What the command line asked for.
struct Arguments
{
    QString modelPath; ///< empty: the default chat model of the store
    QString screenshotsDir; ///< not empty: write a picture of each page, then quit
    bool isStartupReport = false;
    bool startsEngine = true;
};

/// Everything that lives as long as the program, in the order of who needs whom. Handed down by reference.
struct Services
{
    explicit Services(const Arguments &arguments);

    QSettings settings;
    ui::Theme theme;
    models::KeyringSecretStore secrets;
    models::LogBuffer engineLog;
    cluster::HttpClient http;
    models::JobRunner jobs;
    models::LocalEngine engine;
    models::EndpointList endpoints;
    models::EndpointProbe probe;
    models::ModelPull pull;
};

} // namespace app
