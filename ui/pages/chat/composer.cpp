#include "ui/pages/chat/composer.h"

#include "ui/theme/theme.h"
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextBlock>
#include <QVBoxLayout>

namespace ui {
namespace {

constexpr int mostLines = 9;

} // namespace

Composer::Composer(const Theme &theme, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_edit(new QPlainTextEdit), m_context(new QLabel), m_mode(new QLabel),
      m_leaveMode(new QPushButton), m_send(new QPushButton(tr("Send  Ctrl+Enter")))
{
    setObjectName(QStringLiteral("composer"));
    m_edit->setObjectName(QStringLiteral("question"));
    m_edit->setAccessibleName(tr("Question"));
    m_edit->setTabChangesFocus(true);
    m_edit->setStyleSheet(
        QStringLiteral("QPlainTextEdit { border: none; padding: 0; background: transparent; }"));
    m_edit->setFrameShape(QFrame::NoFrame);
    m_edit->document()->setDocumentMargin(2);
    m_edit->installEventFilter(this);
    m_context->setProperty("role", QStringLiteral("secondary"));
    m_context->setObjectName(QStringLiteral("contextUse"));
    m_mode->setProperty("role", QStringLiteral("secondary"));
    m_mode->setWordWrap(true);
    m_mode->hide();
    m_leaveMode->hide();
    m_send->setObjectName(QStringLiteral("send"));
    m_send->setAccessibleName(tr("Send"));
    m_send->setIcon(theme.icon(QStringLiteral("send")));

    auto *mode = new QHBoxLayout;
    mode->addWidget(m_mode, 1);
    mode->addWidget(m_leaveMode);
    auto *row = new QHBoxLayout;
    row->addStretch(1);
    row->addWidget(m_context);
    row->addWidget(m_send);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 9, 10, 9);
    layout->setSpacing(8);
    layout->addLayout(mode);
    layout->addWidget(m_edit);
    layout->addLayout(row);

    connect(m_edit, &QPlainTextEdit::textChanged, this, [this] {
        fitHeight();
        updateSend();
    });
    connect(m_send, &QPushButton::clicked, this, &Composer::trySend);
    connect(m_leaveMode, &QPushButton::clicked, this, &Composer::modeLeft);
    connect(&theme, &Theme::changed, this, [this] {
        m_send->setIcon(m_theme.icon(QStringLiteral("send")));
        fitHeight();
    });
    fitHeight();
    updateSend();
}

QString Composer::text() const
{
    return m_edit->toPlainText();
}

void Composer::setText(const QString &text)
{
    m_edit->setPlainText(text);
    m_edit->moveCursor(QTextCursor::End);
}

void Composer::clear()
{
    m_edit->clear();
}

void Composer::setPlaceholder(const QString &text)
{
    m_edit->setPlaceholderText(text);
}

void Composer::setContextText(const QString &text)
{
    m_context->setText(text);
}

void Composer::setSendEnabled(bool enabled, const QString &reason)
{
    m_isSendEnabled = enabled;
    m_reason = reason;
    updateSend();
}

void Composer::setMode(const QString &text, const QString &leaveText)
{
    m_mode->setText(text);
    m_mode->setVisible(!text.isEmpty());
    m_leaveMode->setText(leaveText);
    m_leaveMode->setVisible(!text.isEmpty() && !leaveText.isEmpty());
}

void Composer::updateSend()
{
    const bool hasText = !m_edit->toPlainText().trimmed().isEmpty();
    m_send->setEnabled(m_isSendEnabled && hasText);
    m_send->setToolTip(!m_isSendEnabled ? m_reason
                           : hasText    ? tr("Send the question")
                                        : tr("Write a question first"));
}

void Composer::trySend()
{
    if (m_isSendEnabled && !text().trimmed().isEmpty())
        emit sendRequested(text());
}

void Composer::fitHeight()
{
    int lines = 0;
    for (QTextBlock block = m_edit->document()->begin(); block.isValid() && lines < mostLines;
         block = block.next())
        lines += std::max(1, block.lineCount());
    const int line = m_edit->fontMetrics().lineSpacing();
    m_edit->setFixedHeight(std::clamp(lines, 1, mostLines) * line + 8);
}

bool Composer::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)
        update();
    if (event->type() == QEvent::Resize)
        QMetaObject::invokeMethod(this, &Composer::fitHeight, Qt::QueuedConnection);
    if (event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride) {
        auto *key = static_cast<QKeyEvent *>(event);
        const bool isEnter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (isEnter && (key->modifiers() & Qt::ControlModifier)) {
            if (event->type() == QEvent::KeyPress)
                trySend();
            key->accept();
            return true;
        }
        if (event->type() == QEvent::KeyPress && key->key() == Qt::Key_Up && m_edit->document()->isEmpty()) {
            emit editLastRequested();
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void Composer::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isFocused = m_edit->hasFocus();
    painter.setPen(QPen(m_theme.color(isFocused ? QStringLiteral("focus") : QStringLiteral("line.control")),
                        isFocused ? 2 : 1));
    painter.setBrush(m_theme.color(QStringLiteral("bg.input")));
    const qreal inset = isFocused ? 1 : 0.5;
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 6, 6);
}

} // namespace ui
