#include "ui/widgets/state.h"

#include <QCoreApplication>

namespace ui {

namespace {

struct Look
{
    const char *icon;
    const char *color;
    const char *word;
};

Look lookOf(State state)
{
    switch (state) {
    case State::None:
        return {"", "text.2", ""};
    case State::Ok:
        return {"state-ok", "ok", QT_TRANSLATE_NOOP("ui::State", "Ready")};
    case State::Run:
        return {"state-run", "run", QT_TRANSLATE_NOOP("ui::State", "Running")};
    case State::Wait:
        return {"state-wait", "wait", QT_TRANSLATE_NOOP("ui::State", "Pending")};
    case State::Warn:
        return {"state-warn", "warn", QT_TRANSLATE_NOOP("ui::State", "Warning")};
    case State::Err:
        return {"state-err", "err", QT_TRANSLATE_NOOP("ui::State", "Failed")};
    case State::Paused:
        return {"state-paused", "paused", QT_TRANSLATE_NOOP("ui::State", "Paused")};
    case State::Skipped:
        return {"state-skip", "wait", QT_TRANSLATE_NOOP("ui::State", "Skipped")};
    case State::Unknown:
        return {"state-unknown", "unknown", QT_TRANSLATE_NOOP("ui::State", "Unknown")};
    }
    return {"state-unknown", "unknown", "Unknown"};
}

} // namespace

QString stateIconName(State state)
{
    return QString::fromLatin1(lookOf(state).icon);
}

QString stateColorName(State state)
{
    return QString::fromLatin1(lookOf(state).color);
}

QString stateWord(State state)
{
    return QCoreApplication::translate("ui::State", lookOf(state).word);
}

} // namespace ui
