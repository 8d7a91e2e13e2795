#include "ui/shell/navigation_model.h"

#include "ui/shell/page.h"

#include <algorithm>

namespace ui {

namespace {

/// Ctrl+0 stands after Ctrl+9, as on the keyboard.
int placeOf(const Page *page)
{
    const int number = page->traits().shortcut;
    return number == 0 ? 10 : number;
}

} // namespace

void NavigationModel::addPage(Page *page)
{
    const auto place = std::upper_bound(m_pages.begin(), m_pages.end(), page,
                                        [](const Page *a, const Page *b) { return placeOf(a) < placeOf(b); });
    const int row = int(place - m_pages.begin());
    beginInsertRows({}, row, row);
    m_pages.insert(row, page);
    endInsertRows();
    connect(page, &Page::stateChanged, this, [this, page] {
        const QModelIndex changed = index(rowOf(page));
        emit dataChanged(changed, changed, {StateMarkRole, StateWordRole, Qt::AccessibleTextRole});
    });
}

int NavigationModel::rowOf(const Page *page) const
{
    return int(std::find(m_pages.begin(), m_pages.end(), page) - m_pages.begin());
}

int NavigationModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(m_pages.size());
}

QVariant NavigationModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Page *page = m_pages.at(index.row());
    const QString shortcut = tr("Ctrl+%1").arg(page->traits().shortcut);
    switch (role) {
    case Qt::DisplayRole:
        return page->traits().title;
    case Qt::AccessibleTextRole:
        return page->stateText().isEmpty()
            ? page->traits().title
            : QString(page->traits().title + QStringLiteral(", ") + page->stateText());
    case Qt::ToolTipRole:
        return QString(page->traits().title + QStringLiteral(" (") + shortcut + u')');
    case IconNameRole:
        return page->traits().iconName;
    case EndTextRole:
        return shortcut;
    case StateMarkRole:
        return int(page->state());
    case StateWordRole:
        return page->stateText();
    default:
        return {};
    }
}

} // namespace ui
