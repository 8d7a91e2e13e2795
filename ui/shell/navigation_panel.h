#pragma once

#include <QToolBar>
#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QListView;

namespace ui {

class NavigationDelegate;
class NavigationModel;
class Theme;

/// The left edge of the window: pages, and below them the targets.
class NavigationPanel : public QWidget
{
    Q_OBJECT

public:
    /// The models outlive the panel.
    NavigationPanel(const Theme &theme, NavigationModel &pages, QAbstractItemModel &targets,
                    QWidget *parent = nullptr);

    void setCompact(bool compact); ///< icons only
    [[nodiscard]] bool isCompact() const { return m_isCompact; }
    void setCurrentPage(int row);
    [[nodiscard]] QListView *pagesView() const { return m_pages; }

    [[nodiscard]] QSize sizeHint() const override;

signals:
    void pageChosen(int row);
    void targetChosen(int row);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    QListView *newView(const QString &name, QAbstractItemModel &model, NavigationDelegate *delegate);
    void updateHeights();

    const Theme &m_theme;
    bool m_isCompact = false;
    NavigationDelegate *m_pageDelegate;
    NavigationDelegate *m_targetDelegate;
    QListView *m_pages;
    QLabel *m_caption;
    QListView *m_targets;
};

/// Holds the panel at the left edge: a tool bar area lies outside of all docks, so that a dock at the bottom
/// opens beside the navigation and not below it.
class NavigationBar : public QToolBar
{
    Q_OBJECT

public:
    explicit NavigationBar(NavigationPanel *panel, QWidget *parent = nullptr);

protected:
    bool event(QEvent *event) override;
};

} // namespace ui
