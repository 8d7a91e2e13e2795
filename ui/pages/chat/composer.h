#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace ui {

class Theme;

/// Where a question is written: grows with its text, Ctrl+Enter sends, Up in an empty one edits the last
/// question.
class Composer : public QFrame
{
    Q_OBJECT

public:
    explicit Composer(const Theme &theme, QWidget *parent = nullptr);

    [[nodiscard]] QString text() const;
    void setText(const QString &text);
    void clear();
    [[nodiscard]] QPlainTextEdit *edit() const { return m_edit; }

    void setPlaceholder(const QString &text);
    void setContextText(const QString &text);
    /// `reason`: the tooltip of the disabled button; the text stays writable.
    void setSendEnabled(bool enabled, const QString &reason = {});
    /// Above the text: "Editing a question", "Completion: …" with a button to leave it. Empty: none.
    void setMode(const QString &text, const QString &leaveText = {});

signals:
    void sendRequested(const QString &text);
    void modeLeft();
    void editLastRequested();

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    void fitHeight();
    void updateSend();
    void trySend();

    const Theme &m_theme;
    QPlainTextEdit *m_edit;
    QLabel *m_context;
    QLabel *m_mode;
    QPushButton *m_leaveMode;
    QPushButton *m_send;
    bool m_isSendEnabled = true;
    QString m_reason;
};

} // namespace ui
