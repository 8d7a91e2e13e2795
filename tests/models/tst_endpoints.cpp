#include "models/engine/endpoint_list.h"
#include "models/engine/secret_store.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QFileInfo>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using models::Endpoint;
using models::EndpointList;

class EndpointsTest : public QObject
{
    Q_OBJECT

private slots:
    void keepsTargetsOverARestartAndTheKeyOutOfTheSettings();
    void theKeyFileIsForItsOwnerOnly();
    void anUnwritableKeyFileIsToldNotHidden();
    void takesUrlsAsPeopleTypeThem_data();
    void takesUrlsAsPeopleTypeThem();
    void refusesWhatIsNoBaseUrl_data();
    void refusesWhatIsNoBaseUrl();
    void thisWorkstationStays();
    void removingTheCurrentTargetFallsBackToThisWorkstation();
    void routesLieBesideV1();
};

void EndpointsTest::keepsTargetsOverARestartAndTheKeyOutOfTheSettings()
{
    const QTemporaryDir dir;
    const QString settingsPath = dir.filePath(QStringLiteral("slipway.ini"));
    const QString secret = QStringLiteral("sk-never-in-settings");
    {
        QSettings settings(settingsPath, QSettings::IniFormat);
        models::FileSecretStore secrets(dir.filePath(QStringLiteral("keys.json")));
        EndpointList list(settings, secrets);
        const QAbstractItemModelTester tester(&list, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QString error;
        const int row
            = list.add(QStringLiteral("lab"), QStringLiteral("https://lab.example:8443"), secret, &error);
        QCOMPARE(error, QString());
        QCOMPARE(row, 1);
        list.setCurrentRow(row);
    }
    QFile written(settingsPath);
    QVERIFY(written.open(QIODevice::ReadOnly));
    const QByteArray text = written.readAll();
    QVERIFY(text.contains("lab.example"));
    QVERIFY(!text.contains("never-in-settings"));

    QSettings settings(settingsPath, QSettings::IniFormat);
    models::FileSecretStore secrets(dir.filePath(QStringLiteral("keys.json")));
    EndpointList list(settings, secrets);
    QCOMPARE(list.rowCount(), 2);
    QCOMPARE(list.current().name, QStringLiteral("lab"));
    QCOMPARE(list.current().baseUrl, QUrl(QStringLiteral("https://lab.example:8443/v1")));
    QTRY_COMPARE(list.current().apiKey, secret); // read later, as a keyring answers
}

void EndpointsTest::theKeyFileIsForItsOwnerOnly()
{
    const QTemporaryDir dir;
    const QString path = dir.filePath(QStringLiteral("keys.json"));
    models::FileSecretStore secrets(path);
    secrets.write(QStringLiteral("a"), QStringLiteral("one"));
    secrets.write(QStringLiteral("b"), QStringLiteral("two"));
    const auto others = QFile::ReadGroup | QFile::WriteGroup | QFile::ReadOther | QFile::WriteOther;
    QVERIFY(!(QFileInfo(path).permissions() & others));
    secrets.write(QStringLiteral("a"), {});
    QCOMPARE(secrets.value(QStringLiteral("a")), QString());
    QCOMPARE(secrets.value(QStringLiteral("b")), QStringLiteral("two"));
}

void EndpointsTest::anUnwritableKeyFileIsToldNotHidden()
{
    const QTemporaryDir dir;
    QFile blocker(dir.filePath(QStringLiteral("file")));
    QVERIFY(blocker.open(QIODevice::WriteOnly));
    models::FileSecretStore secrets(dir.filePath(QStringLiteral("file/keys.json")));
    QSignalSpy warnings(&secrets, &models::SecretStore::warning);
    secrets.write(QStringLiteral("a"), QStringLiteral("one"));
    QCOMPARE(warnings.count(), 1);
    QVERIFY(warnings[0][0].toString().contains(QStringLiteral("keys.json")));
}

void EndpointsTest::takesUrlsAsPeopleTypeThem_data()
{
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("url");
    QTest::newRow("complete") << "http://h:8000/v1"
                              << "http://h:8000/v1";
    QTest::newRow("no v1") << "http://h:8000"
                           << "http://h:8000/v1";
    QTest::newRow("slashes") << " http://h:8000/v1// "
                             << "http://h:8000/v1";
    QTest::newRow("no scheme") << "127.0.0.1:8000"
                               << "http://127.0.0.1:8000/v1";
    QTest::newRow("prefix") << "https://gw/team/a"
                            << "https://gw/team/a/v1";
    QTest::newRow("query is dropped") << "http://h/v1?x=1#y"
                                      << "http://h/v1";
}

void EndpointsTest::takesUrlsAsPeopleTypeThem()
{
    QFETCH(QString, typed);
    QFETCH(QString, url);
    QString error;
    QCOMPARE(EndpointList::normalized(typed, &error), QUrl(url));
    QCOMPARE(error, QString());
}

void EndpointsTest::refusesWhatIsNoBaseUrl_data()
{
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("words");
    QTest::newRow("empty") << ""
                           << "not a URL";
    QTest::newRow("other scheme") << "ftp://h/v1"
                                  << "ftp";
    QTest::newRow("password") << "http://me:pw@h/v1"
                              << "API key";
}

void EndpointsTest::refusesWhatIsNoBaseUrl()
{
    QFETCH(QString, typed);
    QFETCH(QString, words);
    QString error;
    QVERIFY(EndpointList::normalized(typed, &error).isEmpty());
    QVERIFY2(error.contains(words), qPrintable(error));
    QVERIFY(!error.contains(QStringLiteral("pw@")));
}

void EndpointsTest::thisWorkstationStays()
{
    const QTemporaryDir dir;
    QSettings settings(dir.filePath(QStringLiteral("s.ini")), QSettings::IniFormat);
    models::FileSecretStore secrets(dir.filePath(QStringLiteral("keys.json")));
    EndpointList list(settings, secrets);
    QCOMPARE(list.rowCount(), 1);
    QCOMPARE(list.current().kind, Endpoint::Kind::LocalEngine);
    QVERIFY(!list.remove(0));
    QString error;
    QVERIFY(list.add({}, QStringLiteral("http://h"), {}, &error) > 0);
    QCOMPARE(list.add({}, QStringLiteral("http://h/v1/"), {}, &error), -1);
    QVERIFY(error.contains(QStringLiteral("already")));
}

void EndpointsTest::removingTheCurrentTargetFallsBackToThisWorkstation()
{
    const QTemporaryDir dir;
    QSettings settings(dir.filePath(QStringLiteral("s.ini")), QSettings::IniFormat);
    models::FileSecretStore secrets(dir.filePath(QStringLiteral("keys.json")));
    EndpointList list(settings, secrets);
    const QAbstractItemModelTester tester(&list, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QString error;
    list.setCurrentRow(
        list.add(QStringLiteral("a"), QStringLiteral("http://a"), QStringLiteral("k"), &error));
    QSignalSpy changes(&list, &EndpointList::currentChanged);
    QVERIFY(list.remove(1));
    QCOMPARE(changes.count(), 1);
    QCOMPARE(list.currentRow(), 0);
    QFile keys(secrets.path());
    QVERIFY(keys.open(QIODevice::ReadOnly));
    QVERIFY(!keys.readAll().contains("\"k\"")); // its key is forgotten too
}

void EndpointsTest::routesLieBesideV1()
{
    const Endpoint endpoint{
        QStringLiteral("x"), {}, Endpoint::Kind::Url, QUrl(QStringLiteral("https://gw/a/v1")), {}};
    QCOMPARE(endpoint.route(QStringLiteral("/metrics")), QUrl(QStringLiteral("https://gw/a/metrics")));
}

QTEST_GUILESS_MAIN(EndpointsTest)
#include "tst_endpoints.moc"
