#include "cluster/net/http_client.h"
#include "models/bridge/job_runner.h"
#include "models/engine/endpoint_list.h"
#include "models/engine/endpoint_probe.h"
#include "models/engine/secret_store.h"
#include "tests/support/loopback_server.h"

#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>

using models::EndpointList;
using models::TargetState;

class EndpointProbeTest : public QObject
{
    Q_OBJECT

private slots:
    void saysWhatTheServerSays_data()
    {
        QTest::addColumn<int>("status");
        QTest::addColumn<TargetState>("state");
        QTest::addColumn<QString>("text");
        QTest::addRow("answers") << 200 << TargetState::Ready << QString();
        QTest::addRow("wrong key") << 401 << TargetState::Failed << QStringLiteral("API key");
        QTest::addRow("forbidden") << 403 << TargetState::Failed << QStringLiteral("API key");
        QTest::addRow("loading") << 503 << TargetState::Starting << QStringLiteral("503");
        QTest::addRow("another server") << 404 << TargetState::Failed << QStringLiteral("404");
    }
    void saysWhatTheServerSays()
    {
        QFETCH(int, status);
        QFETCH(TargetState, state);
        QFETCH(QString, text);
        std::atomic<int> now = status;
        tests::LoopbackServer server([&now](tests::Exchange &exchange) {
            exchange.respond(now, "application/json", R"({"object":"list","data":[]})");
        });
        watch(QString::fromStdString(server.url()), QStringLiteral("sk-key"));
        QTRY_COMPARE(m_list->stateAt(1), state);
        const QString why = m_list->index(1).data(EndpointList::StateTextRole).toString();
        QVERIFY2(why.contains(text), qPrintable(why));
        QCOMPARE(m_probe->delay().has_value(), status == 200);
        const auto request = server.requests().front();
        QCOMPARE(request.target, std::string("/v1/models"));
        QCOMPARE(request.headers.at("authorization"), std::string("Bearer sk-key"));
    }

    void noticesThatAServerIsGoneAndThatItIsBack()
    {
        std::atomic<int> status = 200;
        tests::LoopbackServer server([&status](tests::Exchange &exchange) {
            if (status == 0)
                exchange.reset();
            else
                exchange.respond(status, "application/json", R"({"data":[]})");
        });
        watch(QString::fromStdString(server.url()), {});
        QTRY_COMPARE(m_list->stateAt(1), TargetState::Ready);
        status = 0;
        QTRY_COMPARE(m_list->stateAt(1), TargetState::Failed);
        QVERIFY(!m_list->index(1).data(EndpointList::StateTextRole).toString().isEmpty());
        QVERIFY(!m_probe->delay());
        status = 200;
        QTRY_COMPARE(m_list->stateAt(1), TargetState::Ready);
    }

    void aTargetThatIsRemovedWhileItIsAskedIsForgotten()
    {
        tests::LoopbackServer server([](tests::Exchange &exchange) { exchange.waitForClientToLeave(); });
        watch(QString::fromStdString(server.url()), {});
        QTRY_COMPARE(server.openConnections(), 1);
        QVERIFY(m_list->remove(1));
        m_probe.reset(); // cancels what it asks
        QTRY_COMPARE(server.openConnections(), 0);
    }

    void cleanup()
    {
        m_probe.reset();
        m_jobs.reset();
        m_list.reset();
    }

private:
    void watch(const QString &url, const QString &key)
    {
        m_settings = std::make_unique<QSettings>(m_dir.filePath(QStringLiteral("%1.ini").arg(++m_files)),
                                                 QSettings::IniFormat);
        m_list = std::make_unique<EndpointList>(*m_settings, m_secrets);
        QString error;
        m_list->setCurrentRow(m_list->add({}, url, key, &error));
        QCOMPARE(error, QString());
        m_jobs = std::make_unique<models::JobRunner>();
        m_probe = std::make_unique<models::EndpointProbe>(*m_list, *m_jobs, m_http);
        m_probe->start(std::chrono::milliseconds(30));
    }

    QTemporaryDir m_dir;
    models::FileSecretStore m_secrets{m_dir.filePath(QStringLiteral("keys.json"))};
    cluster::HttpClient m_http;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<EndpointList> m_list;
    std::unique_ptr<models::JobRunner> m_jobs;
    std::unique_ptr<models::EndpointProbe> m_probe;
    int m_files = 0;
};

QTEST_GUILESS_MAIN(EndpointProbeTest)
#include "tst_endpoint_probe.moc"
