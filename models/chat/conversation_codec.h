#pragma once

#include "models/chat/conversation.h"
#include <QJsonObject>

namespace models {

/// The JSON of the store and of exports. Unknown keys are ignored and missing ones stay absent when reading.
QJsonObject toJson(const AnswerMeasurements &measurements);
QJsonObject toJson(const ChatParameters &parameters);
QJsonObject toJson(const ChatMessage &message);
AnswerMeasurements measurementsFromJson(const QJsonObject &json);
ChatParameters parametersFromJson(const QJsonObject &json);

/// The first line of the first question, shortened to a list row.
QString titleFor(const QString &question);

} // namespace models
