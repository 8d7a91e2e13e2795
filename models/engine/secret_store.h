#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <functional>

namespace models {

/// Where API keys are kept: never in the settings. Answers come later, on the GUI thread.
class SecretStore : public QObject
{
    Q_OBJECT

public:
    using QObject::QObject;

    /// `found` gets an empty text when there is none. It is not called once `receiver` is gone.
    virtual void read(const QString &id, QObject *receiver, std::function<void(const QString &)> found) = 0;
    /// An empty `secret` removes it.
    virtual void write(const QString &id, const QString &secret) = 0;

signals:
    /// Once, when keys can't be kept as they should be, or not at all: for a banner. For a person.
    void warning(const QString &text);
};

/// A file only its owner can read (mode 0600). The fallback of the keyring, and the store of tests.
class FileSecretStore : public SecretStore
{
    Q_OBJECT

public:
    explicit FileSecretStore(QString path, QObject *parent = nullptr);

    void read(const QString &id, QObject *receiver, std::function<void(const QString &)> found) override;
    void write(const QString &id, const QString &secret) override;

    [[nodiscard]] QString path() const { return m_path; }
    [[nodiscard]] QString value(const QString &id) const;

private:
    QString m_path;
};

/// The desktop's keyring by QtKeychain. Where there is none, the file, with a warning that says so.
class KeyringSecretStore : public SecretStore
{
    Q_OBJECT

public:
    explicit KeyringSecretStore(const QString &fallbackPath, QObject *parent = nullptr);

    void read(const QString &id, QObject *receiver, std::function<void(const QString &)> found) override;
    void write(const QString &id, const QString &secret) override;

private:
    void warnOnce(const QString &reason);

    FileSecretStore m_fallback;
    bool m_warned = false;
};

} // namespace models
