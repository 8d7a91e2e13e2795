#pragma once

#include <QFrame>

class QHBoxLayout;
class QLabel;
class QVBoxLayout;

namespace ui {

/// A card of the design: panel colour, thin line, title in section type; put content into body(), buttons
/// into head().
class CardFrame : public QFrame
{
    Q_OBJECT

public:
    explicit CardFrame(const QString &title = {}, QWidget *parent = nullptr);

    void setTitle(const QString &title);
    [[nodiscard]] QHBoxLayout *head() const { return m_head; } ///< after the title, at the end
    [[nodiscard]] QVBoxLayout *body() const { return m_body; }

private:
    QLabel *m_title;
    QHBoxLayout *m_head;
    QVBoxLayout *m_body;
};

} // namespace ui
