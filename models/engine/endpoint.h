#pragma once

#include <QMetaType>
#include <QString>
#include <QUrl>

namespace models {

/// A server that speaks OpenAI's API: this workstation's own engine, or any base URL that the user added.
struct Endpoint
{
    enum class Kind { LocalEngine, Url };

    QString id; ///< "local", or a UUID; stable, names the key in the keyring.
    QString name; ///< For people: "This workstation".
    Kind kind = Kind::Url;
    /// With the "/v1" that OpenAI clients expect at its end, without a slash: "http://127.0.0.1:8000/v1".
    /// Empty while the local engine is not ready.
    QUrl baseUrl;
    QString apiKey; ///< Secret: never in settings, logs, exports. Empty: none needed, or not read yet.

    /// The same server's other routes ("/metrics", "/health"), which live beside "/v1".
    [[nodiscard]] QUrl route(const QString &path) const
    {
        QUrl url = baseUrl;
        QString base = url.path();
        if (base.endsWith(QLatin1String("/v1")))
            base.chop(3);
        url.setPath(base + path);
        return url;
    }
    [[nodiscard]] bool isUsable() const { return baseUrl.isValid() && !baseUrl.isEmpty(); }

    friend bool operator==(const Endpoint &, const Endpoint &) = default;
};

} // namespace models

Q_DECLARE_METATYPE(models::Endpoint)
