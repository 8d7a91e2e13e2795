#include "models/engine/secret_store.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPointer>
#include <QSaveFile>
#include <qt6keychain/keychain.h>
#include <sys/stat.h>

namespace models {

namespace {

const QString Service = QStringLiteral("slipway");

QJsonObject readAll(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

} // namespace

FileSecretStore::FileSecretStore(QString path, QObject *parent) : SecretStore(parent), m_path(std::move(path))
{
}

QString FileSecretStore::value(const QString &id) const
{
    return readAll(m_path).value(id).toString();
}

void FileSecretStore::read(const QString &id, QObject *receiver, std::function<void(const QString &)> found)
{
    // Later, as the keyring answers: callers must not depend on which store they have.
    QMetaObject::invokeMethod(
        receiver, [text = value(id), found = std::move(found)] { found(text); }, Qt::QueuedConnection);
}

void FileSecretStore::write(const QString &id, const QString &secret)
{
    QJsonObject all = readAll(m_path);
    if (secret.isEmpty() && !all.contains(id))
        return;
    if (secret.isEmpty())
        all.remove(id);
    else
        all.insert(id, secret);
    QDir().mkpath(QFileInfo(m_path).path());
    QSaveFile file(m_path);
    // The mode is set before the first byte is written, so that there is no moment at which others can read
    // it.
    const bool opened = file.open(QIODevice::WriteOnly);
    const bool isPrivate = opened && ::fchmod(file.handle(), S_IRUSR | S_IWUSR) == 0;
    if (!isPrivate || file.write(QJsonDocument(all).toJson()) < 0 || !file.commit())
        emit warning(tr("The API key could not be kept in %1 (%2): it is asked for again at the next start.")
                         .arg(m_path, file.errorString()));
}

KeyringSecretStore::KeyringSecretStore(const QString &fallbackPath, QObject *parent)
    : SecretStore(parent), m_fallback(fallbackPath)
{
    connect(&m_fallback, &SecretStore::warning, this, &SecretStore::warning);
}

void KeyringSecretStore::warnOnce(const QString &reason)
{
    if (m_warned)
        return;
    m_warned = true;
    emit warning(
        tr("This desktop offers no keyring (%1). API keys are kept in %2, which only you can read, but not "
           "encrypted.")
            .arg(reason, m_fallback.path()));
}

void KeyringSecretStore::read(const QString &id, QObject *receiver,
                              std::function<void(const QString &)> found)
{
    auto *job = new QKeychain::ReadPasswordJob(Service, this);
    job->setKey(id);
    connect(job, &QKeychain::Job::finished, receiver,
            [this, id, receiver, found = std::move(found)](QKeychain::Job *done) {
                const QString text = static_cast<QKeychain::ReadPasswordJob *>(done)->textData();
                if (done->error() == QKeychain::NoError && !text.isEmpty())
                    found(text);
                else
                    m_fallback.read(id, receiver, found);
            });
    job->start();
}

void KeyringSecretStore::write(const QString &id, const QString &secret)
{
    if (secret.isEmpty()) {
        auto *job = new QKeychain::DeletePasswordJob(Service, this);
        job->setKey(id);
        job->start();
        m_fallback.write(id, {});
        return;
    }
    auto *job = new QKeychain::WritePasswordJob(Service, this);
    job->setKey(id);
    job->setTextData(secret);
    connect(job, &QKeychain::Job::finished, this, [this, id, secret](QKeychain::Job *done) {
        if (done->error() == QKeychain::NoError) {
            m_fallback.write(id, {});
            return;
        }
        warnOnce(done->errorString());
        m_fallback.write(id, secret);
    });
    job->start();
}

} // namespace models
