#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace ui {

/// One sentence, one action, no picture: "No conversations yet. [New chat]".
class EmptyState : public QWidget
{
    Q_OBJECT

public:
    explicit EmptyState(const QString &sentence, const QString &actionText = {}, QWidget *parent = nullptr);

    void setSentence(const QString &sentence);
    void setActionText(const QString &text); ///< empty: no button

signals:
    void actionTriggered();

private:
    QLabel *m_sentence;
    QPushButton *m_action;
};

} // namespace ui
