#pragma once

#include <QDockWidget>

class QLabel;

namespace ui {

class IconButton;
class Page;
class Theme;

/// A dock with the head of the design: title, pin, float, close. A page's dock is shown while its page is the
/// current one; pinned, it stays. What the user closed stays closed until he opens it again.
class Dock : public QDockWidget
{
    Q_OBJECT

public:
    /// `page`: whose dock it is; null: the window's own, shown beside every page.
    Dock(const Theme &theme, const QString &id, const QString &title, Page *page, QWidget *parent);

    [[nodiscard]] Page *page() const { return m_page; }
    [[nodiscard]] bool isWanted() const { return m_isWanted; }
    void setWanted(bool wanted); ///< by the user, or by the saved layout
    [[nodiscard]] bool isPinned() const { return m_isPinned; }
    void setPinned(bool pinned);
    void setCurrentPage(const Page *page);

signals:
    void wantedChanged(bool wanted);

protected:
    void closeEvent(QCloseEvent *event) override;

private:
    QWidget *newHead(const Theme &theme, const QString &title);
    void updateVisible();

    Page *m_page;
    IconButton *m_pin = nullptr;
    bool m_isWanted = true;
    bool m_isPinned = false;
    bool m_isPageCurrent = true;
};

} // namespace ui
