#pragma once

#include <QString>
#include <QVector>
#include <optional>

namespace models {

/// Where chats are sent.
struct ChatEndpoint
{
    QString name; ///< For the window: "This workstation".
    QString baseUrl; ///< With or without /v1; empty: none is there.
    QString apiKey; ///< Never saved, logged or exported.
};

struct ServedModel
{
    QString id;
    std::optional<qint64> maxLength; ///< Tokens of context, as the server says.
};

} // namespace models
