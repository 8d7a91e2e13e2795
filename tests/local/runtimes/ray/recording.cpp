#include "recording.h"

#include <QFile>
#include <QRegularExpression>

using nlohmann::json;

namespace {

QString header(const QString &head, const QString &name)
{
    const QRegularExpression line(QStringLiteral("^%1: (.*?)\r?$").arg(name),
                                  QRegularExpression::MultilineOption
                                      | QRegularExpression::CaseInsensitiveOption);
    return line.match(head).captured(1);
}

void compare(const json &wanted, const json &got, const std::string &path, std::vector<std::string> &missing)
{
    if (wanted.is_null() || got.is_null())
        return;
    const bool isSameType = wanted.type() == got.type() || (wanted.is_number() && got.is_number());
    if (!isSameType) {
        missing.push_back(path + " has another type");
    } else if (wanted.is_object()) {
        for (const auto &[name, value] : wanted.items()) {
            if (got.contains(name))
                compare(value, got[name], path + "/" + name, missing);
            else
                missing.push_back(path + "/" + name);
        }
    } else if (wanted.is_array() && !wanted.empty() && !got.empty()) {
        compare(wanted[0], got[0], path + "/0", missing);
    }
}

} // namespace

Recording recording(const QString &name)
{
    QFile file(QStringLiteral(SLIPWAY_TEST_DATA "/ray/%1.http").arg(name));
    Recording made;
    if (!file.open(QFile::ReadOnly))
        return made;
    QString text = QString::fromUtf8(file.readAll());
    while (text.startsWith(QLatin1Char('#')))
        text = text.mid(text.indexOf(QLatin1Char('\n')) + 1);
    const QRegularExpression blank(QStringLiteral("\r?\n\r?\n"));
    const auto half = QRegularExpression(QStringLiteral("\n(?=HTTP/1.1 )")).match(text);
    const QString request = text.left(half.capturedStart()), answer = text.mid(half.capturedEnd());
    const auto requestEnd = blank.match(request), answerEnd = blank.match(answer);
    const QString requestHead = request.left(requestEnd.capturedStart());
    const QStringList words = requestHead.section(QLatin1Char('\n'), 0, 0).trimmed().split(QLatin1Char(' '));
    made.method = words.value(0).toStdString();
    made.target = words.value(1).toStdString();
    made.port = header(requestHead, QStringLiteral("Host")).section(QLatin1Char(':'), 1).toInt();
    made.contentType = header(requestHead, QStringLiteral("Content-Type")).toStdString();
    if (requestEnd.hasMatch())
        made.body = request.mid(requestEnd.capturedEnd()).trimmed().toStdString();
    const QString answerHead = answer.left(answerEnd.capturedStart());
    made.status = answerHead.section(QLatin1Char(' '), 1, 1).toInt();
    made.answerType = header(answerHead, QStringLiteral("Content-Type")).toStdString();
    made.answer = answer.mid(answerEnd.capturedEnd()).trimmed().toStdString();
    return made;
}

std::vector<std::string> missingMembers(const json &wanted, const json &got)
{
    std::vector<std::string> missing;
    compare(wanted, got, "", missing);
    return missing;
}
