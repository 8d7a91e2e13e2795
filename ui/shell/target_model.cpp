#include "ui/shell/target_model.h"

#include "models/engine/endpoint_list.h"
#include "ui/shell/navigation_model.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state.h"

#include <QRegularExpression>
#include <QUrl>

namespace ui {

namespace {

State markOf(models::TargetState state)
{
    switch (state) {
    case models::TargetState::Unknown:
        return State::Unknown;
    case models::TargetState::Stopped:
        return State::Paused;
    case models::TargetState::Starting:
        return State::Run;
    case models::TargetState::Ready:
        return State::Ok;
    case models::TargetState::Failed:
        return State::Err;
    }
    return State::Unknown;
}

QString wordOf(models::TargetState state)
{
    switch (state) {
    case models::TargetState::Unknown:
        return TargetModel::tr("Not asked yet");
    case models::TargetState::Stopped:
        return TargetModel::tr("Stopped");
    case models::TargetState::Starting:
        return TargetModel::tr("Starting");
    case models::TargetState::Ready:
        return TargetModel::tr("Ready");
    case models::TargetState::Failed:
        return TargetModel::tr("Failed");
    }
    return {};
}

} // namespace

TargetModel::TargetModel(const Theme &theme, models::EndpointList &endpoints, QObject *parent)
    : QIdentityProxyModel(parent), m_theme(theme)
{
    setSourceModel(&endpoints);
    connect(&theme, &Theme::changed, this, [this] {
        if (rowCount() > 0)
            emit dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::DecorationRole});
    });
}

QVariant TargetModel::data(const QModelIndex &index, int role) const
{
    using models::EndpointList;
    const auto source = [&index](int sourceRole) { return index.siblingAtColumn(0).data(sourceRole); };
    const auto state
        = [&source] { return static_cast<models::TargetState>(source(EndpointList::StateRole).toInt()); };
    const auto iconName = [&source] {
        const bool isLocal
            = source(EndpointList::KindRole).toInt() == int(models::Endpoint::Kind::LocalEngine);
        return isLocal ? QStringLiteral("local") : QStringLiteral("link");
    };
    switch (role) {
    case Qt::DecorationRole:
        return m_theme.icon(iconName());
    case Qt::AccessibleTextRole:
        return QString(source(Qt::DisplayRole).toString() + QStringLiteral(", ") + wordOf(state()));
    case Qt::ToolTipRole: {
        const QString text = source(EndpointList::StateTextRole).toString();
        const QString url = source(EndpointList::UrlRole).toUrl().toDisplayString();
        return QStringList{url, wordOf(state()), text}
            .filter(QRegularExpression(QStringLiteral(".")))
            .join(u'\n');
    }
    case IconNameRole:
        return iconName();
    case StateMarkRole:
        return int(markOf(state()));
    case StateWordRole:
        return wordOf(state());
    case IsChosenRole:
        return source(EndpointList::IsCurrentRole);
    default:
        return QIdentityProxyModel::data(index, role);
    }
}

} // namespace ui
