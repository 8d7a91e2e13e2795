#include "ui/pages/chat/answer_footer.h"

#include <QCoreApplication>
#include <QLocale>

namespace ui {
namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("ui::AnswerFooter", text);
}

QString oneDecimal(double value)
{
    return QLocale().toString(value, 'f', 1);
}

} // namespace

QString milliseconds(std::chrono::microseconds duration)
{
    const double ms = static_cast<double>(duration.count()) / 1000.0;
    if (ms >= 5000)
        return tr("%1 s").arg(oneDecimal(ms / 1000));
    return tr("%1 ms").arg(ms >= 100 ? QLocale().toString(ms, 'f', 0) : oneDecimal(ms));
}

AnswerFooter footerOf(const models::ChatMessage &message)
{
    AnswerFooter footer;
    const models::AnswerMeasurements &m = message.measurements;
    if (m.ttft)
        footer.parts.append({tr("TTFT"), milliseconds(*m.ttft)});
    if (m.reasoning && m.firstAnswer)
        footer.parts.append({tr("First answer"), milliseconds(*m.firstAnswer)});
    if (m.tpot)
        footer.parts.append({tr("TPOT"), milliseconds(*m.tpot)});
    if (const auto rate = m.tokensPerSecond())
        footer.parts.append({tr("tok/s"), oneDecimal(*rate), true});
    if (m.completionTokens)
        footer.parts.append({tr("tokens"), QLocale().toString(*m.completionTokens), true});
    if (m.total)
        footer.parts.append(
            {{}, tr("%1 s").arg(oneDecimal(static_cast<double>(m.total->count()) / 1e6)), true});
    switch (message.state) {
    case models::MessageState::Complete:
        footer.state = m.finishReason == QLatin1String("length") ? State::Warn : State::Ok;
        footer.word
            = m.finishReason == QLatin1String("length") ? tr("length: max tokens reached") : m.finishReason;
        break;
    case models::MessageState::Cut:
        footer.state = message.error.isEmpty() ? State::Paused : State::Err;
        footer.word = message.error.isEmpty() ? tr("stopped, not finished") : tr("cut, not finished");
        break;
    case models::MessageState::Failed:
        footer.state = State::Err;
        footer.word = tr("failed");
        break;
    case models::MessageState::Streaming:
        footer.state = State::Run;
        footer.word = tr("Streaming");
        break;
    }
    return footer;
}

AnswerFooter footerOf(const models::AnswerRate &rate, State state, const QString &word)
{
    AnswerFooter footer;
    footer.state = state;
    footer.word = word;
    if (rate.ttft())
        footer.parts.append({tr("TTFT"), milliseconds(*rate.ttft())});
    const QString about = rate.isExact() ? QString() : QString(QChar(0x2248));
    if (const auto mean = rate.mean())
        footer.parts.append({tr("tok/s"), about + oneDecimal(*mean), true});
    if (rate.tokens() > 0)
        footer.parts.append({tr("tokens"), about + QLocale().toString(rate.tokens()), true});
    return footer;
}

QString toText(const AnswerFooter &footer)
{
    QStringList texts{footer.word};
    for (const FooterPart &part : footer.parts) {
        const QString text = part.isValueFirst ? QString(part.value + QLatin1Char(' ') + part.label)
                                               : QString(part.label + QLatin1Char(' ') + part.value);
        texts += text.trimmed();
    }
    texts.removeAll(QString());
    return texts.join(QStringLiteral(", "));
}

} // namespace ui
