#pragma once

#include "ui/widgets/state.h"

#include <QFrame>
#include <QList>
#include <QString>
#include <functional>

class QHBoxLayout;
class QLabel;

namespace ui {

class StateLabel;
class Theme;

/// What a banner says: never a modal box.
struct BannerText
{
    State severity = State::Err; ///< Err, Warn, Run or Ok
    QString what; ///< What happened, one sentence
    QString cause; ///< Why, with numbers; may be empty
    QString details; ///< For "Copy details": time, request, status, version; secrets removed; may be empty
};

struct BannerFix
{
    QString text; ///< On the button, a verb first ("Start again")
    std::function<void()> run;
};

/// Stands above the content of a page and tells of a failure: what happened, Cause, Fix as buttons, Copy
/// details.
class Banner : public QFrame
{
    Q_OBJECT

public:
    explicit Banner(const Theme &theme, QWidget *parent = nullptr);

    void showText(const BannerText &text, const QList<BannerFix> &fixes = {});
    void dismiss();
    [[nodiscard]] const BannerText &text() const { return m_text; }

signals:
    void shownChanged(bool isShown);

private:
    void setFixes(const QList<BannerFix> &fixes);

    BannerText m_text;
    StateLabel *m_icon;
    QLabel *m_what;
    QLabel *m_cause;
    QHBoxLayout *m_buttons;
};

} // namespace ui
