#pragma once

#include <QAbstractListModel>
#include <QList>

namespace ui {

class Page;

/// What the delegate of the navigation reads, from the pages' model as well as from the targets'.
enum NavigationRole {
    IconNameRole = Qt::UserRole + 100, ///< QString
    EndTextRole, ///< QString: the shortcut
    StateMarkRole, ///< int: ui::State
    StateWordRole, ///< QString: the word of that state
    IsChosenRole, ///< bool: the current target
};

/// The pages, in the order of their numbers.
class NavigationModel : public QAbstractListModel
{
    Q_OBJECT

public:
    using QAbstractListModel::QAbstractListModel;

    void addPage(Page *page);
    [[nodiscard]] Page *page(int row) const { return m_pages.at(row); }
    [[nodiscard]] int rowOf(const Page *page) const;
    [[nodiscard]] const QList<Page *> &pages() const { return m_pages; }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role) const override;

private:
    QList<Page *> m_pages;
};

} // namespace ui
