#include "tests/local/controlplane/listening_sockets.h"

#include <QDir>
#include <QFile>
#include <QSet>

namespace {

QSet<QString> socketsOf(std::int64_t pid)
{
    QSet<QString> inodes;
    const QDir descriptors("/proc/" + QString::number(pid) + "/fd");
    for (const QFileInfo &entry : descriptors.entryInfoList(QDir::System | QDir::Files)) {
        const QString target = QFile::symLinkTarget(entry.filePath()); // ".../socket:[12345]"
        const auto at = target.indexOf("socket:[");
        if (at >= 0)
            inodes << target.mid(at + 8).chopped(1);
    }
    return inodes;
}

/// The kernel writes an IPv4 address as a number of this machine's byte order, in hexadecimal.
QString readable(const QString &address)
{
    const QStringList parts = address.split(':');
    const QString port = QString::number(parts.value(1).toUInt(nullptr, 16));
    if (parts.value(0).size() != 8)
        return "[" + parts.value(0) + "]:" + port;
    const uint number = parts.value(0).toUInt(nullptr, 16);
    return QString("%1.%2.%3.%4:%5")
        .arg(number & 255)
        .arg(number >> 8 & 255)
        .arg(number >> 16 & 255)
        .arg(number >> 24)
        .arg(port);
}

} // namespace

QStringList listeningSockets(std::int64_t pid)
{
    const QSet<QString> inodes = socketsOf(pid);
    QStringList found;
    for (const char *table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        QFile file(table);
        if (!file.open(QIODevice::ReadOnly))
            continue;
        const QStringList lines = QString::fromLatin1(file.readAll()).split('\n');
        for (const QString &line : lines) {
            const QStringList fields = line.simplified().split(' ');
            if (fields.size() > 9 && fields[3] == "0A" && inodes.contains(fields[9]))
                found << readable(fields[1]);
        }
    }
    return found;
}
