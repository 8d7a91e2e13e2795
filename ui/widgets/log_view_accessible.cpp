#include "ui/widgets/log_view_accessible.h"

#include "ui/widgets/log_view.h"

#include <QAccessibleWidget>
#include <QPointer>
#include <vector>

namespace ui {

namespace {

/// The line on one place of the screen. It asks the view at every call, so it never tells an old line.
class LineAccessible : public QAccessibleInterface
{
public:
    LineAccessible(LogView *view, int place) : m_view(view), m_place(place) {}

    [[nodiscard]] bool isValid() const override { return m_view && m_place < m_view->visibleRowCount(); }
    [[nodiscard]] QObject *object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface *childAt(int, int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface *parent() const override
    {
        return m_view ? QAccessible::queryAccessibleInterface(m_view.data()) : nullptr;
    }
    [[nodiscard]] QAccessibleInterface *child(int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface *) const override { return -1; }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        return isValid() && kind == QAccessible::Name ? m_view->rowText(row()) : QString();
    }
    void setText(QAccessible::Text, const QString &) override {}
    [[nodiscard]] QRect rect() const override
    {
        if (!isValid())
            return {};
        const QRect inView = m_view->rowRect(row());
        return {m_view->viewport()->mapToGlobal(inView.topLeft()), inView.size()};
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State state;
        state.readOnly = true;
        state.invisible = !isValid() || !m_view->isVisible();
        return state;
    }

private:
    [[nodiscard]] int row() const { return m_view->firstVisibleRow() + m_place; }

    QPointer<LogView> m_view;
    int m_place;
};

class LogViewAccessible : public QAccessibleWidget
{
public:
    explicit LogViewAccessible(LogView *view) : QAccessibleWidget(view, QAccessible::List) {}
    ~LogViewAccessible() override
    {
        for (const QAccessible::Id id : m_lines)
            QAccessible::deleteAccessibleInterface(id);
    }

    [[nodiscard]] int childCount() const override { return view()->visibleRowCount(); }
    [[nodiscard]] QAccessibleInterface *child(int index) const override
    {
        if (index < 0 || index >= childCount())
            return nullptr;
        while (int(m_lines.size()) <= index)
            m_lines.push_back(
                QAccessible::registerAccessibleInterface(new LineAccessible(view(), int(m_lines.size()))));
        return QAccessible::accessibleInterface(m_lines[std::size_t(index)]);
    }
    [[nodiscard]] QAccessibleInterface *childAt(int x, int y) const override
    {
        for (int i = 0; i < childCount(); ++i)
            if (QAccessibleInterface *line = child(i); line && line->rect().contains(x, y))
                return line;
        return nullptr;
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface *wanted) const override
    {
        for (std::size_t i = 0; i < m_lines.size(); ++i)
            if (QAccessible::accessibleInterface(m_lines[i]) == wanted)
                return int(i);
        return -1;
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (kind == QAccessible::Value)
            return LogView::tr("%n line(s)", nullptr, view()->shownCount());
        return QAccessibleWidget::text(kind);
    }

private:
    [[nodiscard]] LogView *view() const { return static_cast<LogView *>(widget()); }

    mutable std::vector<QAccessible::Id> m_lines; // by place on the screen, made on demand
};

QAccessibleInterface *makeInterface(const QString &, QObject *object)
{
    auto *view = qobject_cast<LogView *>(object);
    return view ? new LogViewAccessible(view) : nullptr;
}

} // namespace

void installLogViewAccessible()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory(makeInterface);
        return true;
    }();
    Q_UNUSED(isInstalled)
}

} // namespace ui
