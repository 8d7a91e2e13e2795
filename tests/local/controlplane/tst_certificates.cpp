#include "cluster/local/controlplane/certificate_folder.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

using namespace cluster::local;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::hours day{24};

const CertificateTime now = std::chrono::system_clock::from_time_t(1'800'000'000);

CertificateSubject server()
{
    CertificateSubject subject;
    subject.commonName = "kube-apiserver";
    subject.dnsNames = {"localhost", "kubernetes.default.svc"};
    subject.addresses = {"127.0.0.1", "10.201.0.1"};
    subject.server = true;
    return subject;
}

CertificateSubject client()
{
    CertificateSubject subject;
    subject.commonName = "system:kube-scheduler";
    subject.organizations = {"system:masters"};
    return subject;
}

CertificateAuthority authority()
{
    auto made = CertificateAuthority::create("slipway local test", now);
    if (!made)
        qFatal("%s", made.error().message.c_str());
    return std::move(*made);
}

unsigned modeOf(const fs::path &path)
{
    return static_cast<unsigned>(fs::status(path).permissions());
}

} // namespace

class TestCertificates : public QObject
{
    Q_OBJECT

private slots:
    void aServersCertificateIsGoodForItsNamesAndAddresses()
    {
        const auto ca = authority();
        const auto issued = ca.issue(server(), now);
        QVERIFY(issued);
        QVERIFY(certificateFits(issued->certificate, ca.pem().certificate, server(), now));

        auto other = server();
        other.addresses.emplace_back("10.202.0.1");
        QVERIFY(!certificateFits(issued->certificate, ca.pem().certificate, other, now));
        other = server();
        other.dnsNames.emplace_back("example.com");
        QVERIFY(!certificateFits(issued->certificate, ca.pem().certificate, other, now));
    }

    void aClientsCertificateCarriesItsUserAndGroupsAndCannotServe()
    {
        const auto ca = authority();
        const auto issued = ca.issue(client(), now);
        QVERIFY(issued);
        QVERIFY(certificateFits(issued->certificate, ca.pem().certificate, client(), now));

        auto other = client();
        other.organizations.clear();
        QVERIFY(!certificateFits(issued->certificate, ca.pem().certificate, other, now));
        other = client();
        other.server = true;
        QVERIFY(!certificateFits(issued->certificate, ca.pem().certificate, other, now));
    }

    void anotherAuthoritysSignatureIsNotAccepted()
    {
        const auto issued = authority().issue(server(), now);
        QVERIFY(issued);
        QVERIFY(!certificateFits(issued->certificate, authority().pem().certificate, server(), now));
    }

    void certificatesHoldForAYearAndAreGoodAtOnceWhereClocksDiffer()
    {
        const auto ca = authority();
        const auto issued = ca.issue(server(), now);
        QVERIFY(issued);
        const auto &pem = issued->certificate;
        QVERIFY(certificateFits(pem, ca.pem().certificate, server(), now - std::chrono::minutes{30}));
        QVERIFY(certificateFits(pem, ca.pem().certificate, server(), now + 364 * day));
        QVERIFY(!certificateFits(pem, ca.pem().certificate, server(), now + 366 * day));
        QCOMPARE(certificateExpiry(pem).value(), now + 365 * day);
    }

    void namesThatWouldBreakTheNotationAreRefused()
    {
        const auto ca = authority();
        auto subject = server();
        subject.dnsNames = {"localhost,IP:1.2.3.4"};
        QCOMPARE(ca.issue(subject, now).error().code, cluster::ErrorCode::InvalidArgument);
        subject = server();
        subject.addresses = {"127.0.0.1,DNS:example.com"};
        QCOMPARE(ca.issue(subject, now).error().code, cluster::ErrorCode::InvalidArgument);
    }

    void whatIsNotAPairIsNotLoaded()
    {
        const auto first = authority();
        const auto second = authority();
        QVERIFY(CertificateAuthority::load(first.pem()));
        QVERIFY(!CertificateAuthority::load({first.pem().certificate, second.pem().key}));
        QVERIFY(!CertificateAuthority::load({"", ""}));
        QVERIFY(!CertificateAuthority::load({"-----BEGIN CERTIFICATE-----\nAAAA\n", first.pem().key}));
        QVERIFY(!certificateExpiry("no certificate"));
    }

    void aFolderKeepsWhatItHasAndRenewsWhatEndsSoon()
    {
        const QTemporaryDir temporary;
        const fs::path dir = fs::path(temporary.path().toStdString()) / "pki";
        auto folder = CertificateFolder::open(dir, "test", now);
        QVERIFY(folder);
        const std::string ca = folder->authorityPem();
        const auto first = folder->identity("apiserver", server(), now);
        const auto keys = folder->signingKeys("service-accounts");
        QVERIFY(first && keys);

        folder = CertificateFolder::open(dir, "test", now + 300 * day);
        QVERIFY(folder);
        QCOMPARE(folder->authorityPem(), ca);
        QCOMPARE(folder->identity("apiserver", server(), now + 300 * day)->pem.certificate,
                 first->pem.certificate);

        const auto renewed = folder->identity("apiserver", server(), now + 340 * day);
        QVERIFY(renewed);
        QVERIFY(renewed->pem.certificate != first->pem.certificate);
        QVERIFY(certificateFits(renewed->pem.certificate, ca, server(), now + 340 * day));
        QCOMPARE(folder->signingKeys("service-accounts")->pem.key, keys->pem.key);
    }

    void aSubjectThatChangedGetsANewCertificate()
    {
        const QTemporaryDir temporary;
        const auto folder = CertificateFolder::open(temporary.path().toStdString(), "test", now);
        QVERIFY(folder);
        const auto first = folder->identity("apiserver", server(), now);
        auto moved = server();
        moved.addresses.emplace_back("10.202.0.1");
        const auto second = folder->identity("apiserver", moved, now);
        QVERIFY(first && second);
        QVERIFY(first->pem.certificate != second->pem.certificate);
    }

    void filesAreTheirOwnersAlone()
    {
        const QTemporaryDir temporary;
        const fs::path dir = fs::path(temporary.path().toStdString()) / "pki";
        const auto folder = CertificateFolder::open(dir, "test", now);
        QVERIFY(folder);
        const auto files = folder->identity("apiserver", server(), now);
        QVERIFY(files);
        QCOMPARE(modeOf(dir), 0700U);
        for (const auto &file : fs::directory_iterator(dir))
            QCOMPARE(modeOf(file.path()), 0600U);
    }

    void aFileThatIsDamagedIsMadeAnew()
    {
        const QTemporaryDir temporary;
        const auto folder = CertificateFolder::open(temporary.path().toStdString(), "test", now);
        QVERIFY(folder);
        const auto files = folder->identity("apiserver", server(), now);
        QVERIFY(files);
        fs::resize_file(files->certificateFile, 100);
        const auto again = folder->identity("apiserver", server(), now);
        QVERIFY(again);
        QVERIFY(certificateFits(again->pem.certificate, folder->authorityPem(), server(), now));
    }
};

QTEST_GUILESS_MAIN(TestCertificates)
#include "tst_certificates.moc"
