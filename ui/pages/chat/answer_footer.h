#pragma once

#include "models/chat/answer_rate.h"
#include "models/chat/conversation.h"
#include "ui/widgets/state.h"
#include <QString>
#include <QVector>
#include <chrono>

namespace ui {

/// "TTFT" + "214 ms", or "tok/s" behind "90.1".
struct FooterPart
{
    QString label;
    QString value;
    bool isValueFirst = false;
};

struct AnswerFooter
{
    QVector<FooterPart> parts;
    State state = State::None;
    QString word; ///< Beside the state: "stop", "Streaming", "cut"
};

/// The line under an answer that has ended.
AnswerFooter footerOf(const models::ChatMessage &message);
/// The line under the answer that is coming. Token counts that the server did not tell carry ≈.
AnswerFooter footerOf(const models::AnswerRate &rate, State state, const QString &word);
QString toText(const AnswerFooter &footer);

QString milliseconds(std::chrono::microseconds duration); ///< "214 ms", "11.1 ms", "7.0 s"

} // namespace ui
