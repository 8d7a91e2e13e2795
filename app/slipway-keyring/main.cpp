// The desktop's keyring for programs without Qt: a process of its own, since a keyring that does not answer
// can only be left by ending the one that asked it.
#include <QCoreApplication>
#include <QTextStream>
#include <QTimer>
#include <cstdio>
#include <qt6keychain/keychain.h>

namespace {

enum ExitCode { exitDone = 0, exitNotThere = 1, exitUsage = 2, exitNoKeyring = 3 };

constexpr int patienceMs = 20'000; ///< Long enough to type a password; who asked may end us before.

int failed(const QKeychain::Job &job)
{
    if (job.error() == QKeychain::EntryNotFound)
        return exitNotThere;
    QTextStream(stderr) << "slipway-keyring: " << job.errorString() << '\n';
    return exitNoKeyring;
}

int finish(QKeychain::Job &job)
{
    if (job.error() != QKeychain::NoError)
        return failed(job);
    if (const auto *read = qobject_cast<QKeychain::ReadPasswordJob *>(&job))
        QTextStream(stdout) << "secret:" << read->textData() << '\n';
    return exitDone;
}

/// Null for wrong words.
QKeychain::Job *jobFor(const QStringList &words, QObject *parent)
{
    const QString service = QStringLiteral("slipway"); // as the window's keys
    const QString verb = words.value(1);
    QKeychain::Job *job = nullptr;
    if (verb == QLatin1String("read")) {
        job = new QKeychain::ReadPasswordJob(service, parent);
    } else if (verb == QLatin1String("delete")) {
        job = new QKeychain::DeletePasswordJob(service, parent);
    } else if (verb == QLatin1String("write")) {
        auto *write = new QKeychain::WritePasswordJob(service, parent);
        write->setTextData(QTextStream(stdin).readAll().trimmed());
        job = write;
    }
    if (job)
        job->setKey(words.value(2));
    return words.size() == 3 ? job : nullptr;
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    QKeychain::Job *job = jobFor(QCoreApplication::arguments(), &application);
    if (job == nullptr) {
        std::fputs(
            "usage: slipway-keyring read|write|delete NAME   (write: the secret on standard input)\n"
            "Secrets of Slipway in the desktop's keyring; 'huggingface' is the token for model pulls.\n"
            "Exit status: 0 done, 1 there is none, 2 wrong usage, 3 no keyring.\n",
            stderr);
        return exitUsage;
    }
    job->setAutoDelete(false);
    job->setInsecureFallback(false);
    QObject::connect(job, &QKeychain::Job::finished, &application,
                     [](QKeychain::Job *done) { QCoreApplication::exit(finish(*done)); });
    QTimer::singleShot(patienceMs, &application, [] {
        std::fputs("slipway-keyring: the keyring does not answer\n", stderr);
        QCoreApplication::exit(exitNoKeyring);
    });
    QTimer::singleShot(0, job, [job] { job->start(); });
    return QCoreApplication::exec();
}
