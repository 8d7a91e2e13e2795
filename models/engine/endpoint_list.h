#pragma once

#include "models/engine/endpoint.h"

#include <QAbstractListModel>
#include <QList>

class QSettings;

namespace models {

class LocalEngine;
class SecretStore;

/// What is known of a target right now.
enum class TargetState { Unknown, Stopped, Starting, Ready, Failed };

/// The targets: this workstation's own engine (row 0, always there) and base URLs that the user added. Kept
/// in the settings, API keys in the SecretStore. One is the current one.
class EndpointList : public QAbstractListModel
{
    Q_OBJECT

public:
    enum Role {
        IdRole = Qt::UserRole + 1,
        KindRole, ///< Endpoint::Kind
        UrlRole, ///< QUrl
        StateRole, ///< TargetState
        StateTextRole, ///< QString: why ("connection refused")
        IsCurrentRole, ///< bool
    };

    /// Both outlive this.
    EndpointList(QSettings &settings, SecretStore &secrets, QObject *parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role) const override;

    [[nodiscard]] const Endpoint &at(int row) const { return m_rows[row].endpoint; }
    [[nodiscard]] const Endpoint &current() const { return at(m_current); }
    [[nodiscard]] int currentRow() const { return m_current; }
    void setCurrentRow(int row);
    [[nodiscard]] int rowOf(const QString &id) const; ///< -1: none
    [[nodiscard]] TargetState stateAt(int row) const { return m_rows[row].state; }

    /// `url` with or without "/v1". Returns the row, or -1 and says in `error` what is wrong with it.
    int add(const QString &name, const QString &url, const QString &apiKey, QString *error);
    /// The local engine can't be removed: false.
    bool remove(int row);

    /// From now on row 0 shows the state and the URL of this engine, which outlives the list.
    void follow(const LocalEngine &engine);
    void setState(const QString &id, TargetState state, const QString &text);

    /// What the user typed as the base URL that clients take; invalid, with `error` set, if it is none.
    static QUrl normalized(const QString &url, QString *error);

signals:
    /// Another target, or the URL or key of the current one: pages connect again.
    void currentChanged();

private:
    struct Row
    {
        Endpoint endpoint;
        TargetState state = TargetState::Unknown;
        QString stateText;
    };

    void load();
    void save();
    void setLocalUrl(const QUrl &baseUrl);
    void readKey(const QString &id);

    QSettings &m_settings;
    SecretStore &m_secrets;
    QList<Row> m_rows;
    int m_current = 0;
};

} // namespace models
