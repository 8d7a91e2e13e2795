#pragma once

#include <QIdentityProxyModel>

namespace models {
class EndpointList;
}

namespace ui {

class Theme;

/// The targets as the window shows them: with the icon and the state mark that the models know nothing of.
class TargetModel : public QIdentityProxyModel
{
    Q_OBJECT

public:
    /// Both outlive this.
    TargetModel(const Theme &theme, models::EndpointList &endpoints, QObject *parent = nullptr);

    [[nodiscard]] QVariant data(const QModelIndex &index, int role) const override;

private:
    const Theme &m_theme;
};

} // namespace ui
