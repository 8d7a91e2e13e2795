#include "models/engine/endpoint_list.h"

#include "models/engine/local_engine.h"
#include "models/engine/secret_store.h"

#include <QSettings>
#include <QUuid>

namespace models {

namespace {

// Names in the settings file: never change them.
const QString GroupKey = QStringLiteral("targets");
const QString CurrentKey = QStringLiteral("currentTarget");
const QString LocalId = QStringLiteral("local");

} // namespace

EndpointList::EndpointList(QSettings &settings, SecretStore &secrets, QObject *parent)
    : QAbstractListModel(parent), m_settings(settings), m_secrets(secrets)
{
    load();
}

void EndpointList::load()
{
    m_rows.append(
        {{LocalId, tr("This workstation"), Endpoint::Kind::LocalEngine, {}, {}}, TargetState::Stopped, {}});
    const int count = m_settings.beginReadArray(GroupKey);
    for (int i = 0; i < count; ++i) {
        m_settings.setArrayIndex(i);
        const QUrl url = m_settings.value(QStringLiteral("url")).toUrl();
        const QString id = m_settings.value(QStringLiteral("id")).toString();
        if (url.isValid() && !id.isEmpty())
            m_rows.append(
                {{id, m_settings.value(QStringLiteral("name")).toString(), Endpoint::Kind::Url, url, {}},
                 TargetState::Unknown,
                 {}});
    }
    m_settings.endArray();
    m_current = qMax(0, rowOf(m_settings.value(CurrentKey).toString()));
    for (int row = 1; row < m_rows.size(); ++row)
        readKey(at(row).id);
}

void EndpointList::save()
{
    m_settings.remove(GroupKey);
    m_settings.beginWriteArray(GroupKey, int(m_rows.size()) - 1);
    for (int row = 1; row < m_rows.size(); ++row) {
        m_settings.setArrayIndex(row - 1);
        m_settings.setValue(QStringLiteral("id"), at(row).id);
        m_settings.setValue(QStringLiteral("name"), at(row).name);
        m_settings.setValue(QStringLiteral("url"), at(row).baseUrl);
    }
    m_settings.endArray();
    m_settings.setValue(CurrentKey, current().id);
}

void EndpointList::readKey(const QString &id)
{
    m_secrets.read(id, this, [this, id](const QString &key) {
        const int row = rowOf(id);
        if (row < 0 || key.isEmpty() || at(row).apiKey == key)
            return;
        m_rows[row].endpoint.apiKey = key;
        if (row == m_current)
            emit currentChanged();
    });
}

int EndpointList::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant EndpointList::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row &row = m_rows[index.row()];
    switch (role) {
    case Qt::DisplayRole:
        return row.endpoint.name;
    case Qt::ToolTipRole:
        return row.endpoint.isUsable() ? row.endpoint.baseUrl.toDisplayString() : row.stateText;
    case IdRole:
        return row.endpoint.id;
    case KindRole:
        return int(row.endpoint.kind);
    case UrlRole:
        return row.endpoint.baseUrl;
    case StateRole:
        return int(row.state);
    case StateTextRole:
        return row.stateText;
    case IsCurrentRole:
        return index.row() == m_current;
    default:
        return {};
    }
}

int EndpointList::rowOf(const QString &id) const
{
    for (int row = 0; row < m_rows.size(); ++row)
        if (at(row).id == id)
            return row;
    return -1;
}

void EndpointList::setCurrentRow(int row)
{
    if (row == m_current || row < 0 || row >= m_rows.size())
        return;
    const int before = std::exchange(m_current, row);
    m_settings.setValue(CurrentKey, current().id);
    emit dataChanged(index(before), index(before), {IsCurrentRole});
    emit dataChanged(index(row), index(row), {IsCurrentRole});
    emit currentChanged();
}

QUrl EndpointList::normalized(const QString &text, QString *error)
{
    QUrl url = QUrl::fromUserInput(text.trimmed());
    const auto refuse = [error](const QString &why) {
        *error = why;
        return QUrl();
    };
    if (!url.isValid() || url.host().isEmpty())
        return refuse(tr("'%1' is not a URL. Expected: http://host:8000/v1").arg(text));
    if (url.scheme() != QLatin1String("http") && url.scheme() != QLatin1String("https"))
        return refuse(tr("'%1' can't be asked for by HTTP: use http:// or https://").arg(url.scheme()));
    if (!url.userInfo().isEmpty())
        return refuse(tr("User name and password do not belong into the URL: use the API key"));
    QString path = url.path();
    while (path.endsWith(u'/'))
        path.chop(1);
    if (!path.endsWith(QLatin1String("/v1")))
        path += QStringLiteral("/v1");
    url.setPath(path);
    url.setQuery(QString());
    url.setFragment(QString());
    return url;
}

int EndpointList::add(const QString &name, const QString &text, const QString &apiKey, QString *error)
{
    const QUrl url = normalized(text, error);
    if (!url.isValid() || url.isEmpty())
        return -1;
    for (const Row &row : m_rows) {
        if (row.endpoint.baseUrl == url && row.endpoint.kind == Endpoint::Kind::Url) {
            *error = tr("%1 is there already, as %2").arg(url.toDisplayString(), row.endpoint.name);
            return -1;
        }
    }
    Endpoint endpoint{QUuid::createUuid().toString(QUuid::WithoutBraces),
                      name.trimmed().isEmpty() ? url.authority() : name.trimmed(), Endpoint::Kind::Url, url,
                      apiKey};
    const int row = int(m_rows.size());
    beginInsertRows({}, row, row);
    m_rows.append({endpoint, TargetState::Unknown, {}});
    endInsertRows();
    if (!apiKey.isEmpty())
        m_secrets.write(endpoint.id, apiKey);
    save();
    return row;
}

bool EndpointList::remove(int row)
{
    if (row < 0 || row >= m_rows.size() || at(row).kind == Endpoint::Kind::LocalEngine)
        return false;
    m_secrets.write(at(row).id, {});
    const bool wasCurrent = row == m_current;
    beginRemoveRows({}, row, row);
    m_rows.removeAt(row);
    if (wasCurrent)
        m_current = 0;
    else if (row < m_current)
        --m_current;
    endRemoveRows();
    save();
    if (wasCurrent) {
        emit dataChanged(index(0), index(0), {IsCurrentRole});
        emit currentChanged();
    }
    return true;
}

void EndpointList::setLocalUrl(const QUrl &baseUrl)
{
    if (at(0).baseUrl == baseUrl)
        return;
    m_rows[0].endpoint.baseUrl = baseUrl;
    emit dataChanged(index(0), index(0), {UrlRole});
    if (m_current == 0)
        emit currentChanged();
}

void EndpointList::follow(const LocalEngine &engine)
{
    const auto update = [this, &engine] {
        static const QHash<LocalEngine::State, TargetState> states{
            {LocalEngine::State::Stopped, TargetState::Stopped},
            {LocalEngine::State::Starting, TargetState::Starting},
            {LocalEngine::State::Ready, TargetState::Ready},
            {LocalEngine::State::Failed, TargetState::Failed},
        };
        setState(LocalId, states.value(engine.state()), engine.reason());
        setLocalUrl(engine.baseUrl());
    };
    connect(&engine, &LocalEngine::stateChanged, this, update);
    update();
}

void EndpointList::setState(const QString &id, TargetState state, const QString &text)
{
    const int row = rowOf(id);
    if (row < 0 || (m_rows[row].state == state && m_rows[row].stateText == text))
        return;
    m_rows[row].state = state;
    m_rows[row].stateText = text;
    emit dataChanged(index(row), index(row), {StateRole, StateTextRole, Qt::ToolTipRole});
}

} // namespace models
