#pragma once

#include "models/chat/answer_rate.h"
#include "ui/pages/chat/message_layout.h"
#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QHash>
#include <QSet>

class QPushButton;

namespace models {
class Transcript;
}

namespace ui {

class Theme;

/// The messages of a conversation. Only what is visible is laid out, one document a block; heights of the
/// rest are estimated until they come into view. Text is selected over blocks and messages, by mouse and
/// keyboard.
///
/// Follows the end while text comes, until the user scrolls up; "New text" takes it up again.
class TranscriptView : public QAbstractScrollArea
{
    Q_OBJECT

public:
    TranscriptView(models::Transcript &transcript, const Theme &theme, QWidget *parent = nullptr);
    ~TranscriptView() override;

    /// The line under the answer that is coming.
    void setLiveFooter(const AnswerFooter &footer);

    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }
    void follow();
    [[nodiscard]] bool hasSelection() const;
    [[nodiscard]] QString selectedText() const;
    void copy(); ///< The selection, or else the current message.
    void selectAll();
    [[nodiscard]] int currentMessage() const { return m_current; }
    void setCurrentMessage(int index);
    void toggleReasoning(int index);

    // For the accessible interface and tests.
    [[nodiscard]] const models::Transcript &transcript() const { return m_transcript; }
    [[nodiscard]] QRect messageRect(int index) const; ///< In the viewport; may lie outside of it.
    [[nodiscard]] const MessageLayout &layoutOf(int index) const
    {
        return const_cast<TranscriptView *>(this)->ensure(index);
    }
    [[nodiscard]] int cachedLayouts() const { return static_cast<int>(m_layouts.size()); }
    void activate(int message, const MessageControl &control);
    [[nodiscard]] QPoint controlCenter(int message, int control) const; ///< In the viewport.

signals:
    void regenerateRequested(int message);
    void editRequested(int message);
    void variantRequested(int message, int step);
    void stopRequested();
    void copied(const QString &what);

protected:
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void scrollContentsBy(int dx, int dy) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void mouseDoubleClickEvent(QMouseEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void wheelEvent(QWheelEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    bool viewportEvent(QEvent *event) override;

private:
    struct Hit
    {
        int message = -1;
        int control = -1;
        QString link;
    };

    void onReset();
    void onAppended(int index);
    void onGrew(int index);
    void onChanged(int index);
    void onTruncated(int count);
    void forgetAll();
    MessageLayout &ensure(int index);
    void dropFarLayouts();
    [[nodiscard]] int estimatedHeight(int index) const;
    [[nodiscard]] int contentWidth() const;
    void setHeight(int index, int height);
    void updateOffsets(int from);
    void layoutVisible();
    void updateScrollBar();
    [[nodiscard]] int messageAt(int contentY) const;
    [[nodiscard]] Hit hitAt(const QPoint &position);
    [[nodiscard]] TextPlace placeAt(const QPoint &position);
    [[nodiscard]] std::pair<TextPlace, TextPlace> orderedSelection() const;
    void moveSelection(int key, Qt::KeyboardModifiers modifiers);
    void clearSelection();
    void showNewText(bool visible);
    void placeNewText();
    void updateMessage(int index);
    void moveControl(int step);
    void scrollCode(int step); ///< The code of the current message
    [[nodiscard]] int scrollValue() const;

    models::Transcript &m_transcript;
    const Theme &m_theme;
    QPushButton *m_newText;
    QHash<int, std::shared_ptr<MessageLayout>> m_layouts; // By index; only near the visible ones.
    QVector<int> m_heights; // Exact where laid out once, else estimated.
    QVector<int> m_offsets; // Tops; one more than there are messages.
    QSet<qint64> m_openReasoning; // By message id.
    AnswerFooter m_liveFooter;
    TextPlace m_anchor;
    TextPlace m_caret;
    bool m_isSelecting = false;
    bool m_isFollowing = true;
    bool m_isAdjusting = false; // The scroll bar is moved by us.
    int m_current = -1;
    int m_focusedControl = -1;
    Hit m_hovered;
    QElapsedTimer m_clock;
};

} // namespace ui
