#include "ui/pages/chat/code_colors.h"

#include <QSet>

namespace ui {
namespace {

constexpr int longestColored = 2000; // A longer line is data, not code.

enum class CommentStyle { None, Hash, Slashes, Dashes };

CommentStyle commentsOf(const QString &language)
{
    static const QSet<QString> hash{
        QStringLiteral("bash"),   QStringLiteral("sh"),      QStringLiteral("shell"),
        QStringLiteral("python"), QStringLiteral("py"),      QStringLiteral("yaml"),
        QStringLiteral("yml"),    QStringLiteral("toml"),    QStringLiteral("cmake"),
        QStringLiteral("ruby"),   QStringLiteral("console"), QStringLiteral("dockerfile")};
    static const QSet<QString> slashes{
        QStringLiteral("c"),          QStringLiteral("cpp"),        QStringLiteral("c++"),
        QStringLiteral("cuda"),       QStringLiteral("go"),         QStringLiteral("java"),
        QStringLiteral("rust"),       QStringLiteral("javascript"), QStringLiteral("js"),
        QStringLiteral("typescript"), QStringLiteral("ts"),         QStringLiteral("swift")};
    if (hash.contains(language))
        return CommentStyle::Hash;
    if (slashes.contains(language))
        return CommentStyle::Slashes;
    return language == QLatin1String("sql") ? CommentStyle::Dashes : CommentStyle::None;
}

bool isKeyword(const QString &word)
{
    static const QSet<QString> words = [] {
        const QString all
            = QStringLiteral("and as async await auto bool break case catch class const continue def del do "
                             "done elif else enum export "
                             "false finally fi fn for from func function if import in include int interface "
                             "is lambda let local mut "
                             "namespace new None not null or package pass private public raise return self "
                             "static struct switch "
                             "template then this throw true True False try type typename using var void "
                             "while with yield SELECT FROM "
                             "WHERE INSERT UPDATE DELETE CREATE TABLE JOIN GROUP ORDER BY LIMIT");
        const QStringList list = all.split(QLatin1Char(' '));
        return QSet<QString>(list.cbegin(), list.cend());
    }();
    return words.contains(word);
}

bool startsComment(const QString &line, qsizetype at, CommentStyle style)
{
    switch (style) {
    case CommentStyle::Hash:
        return line[at] == QLatin1Char('#') && (at == 0 || line[at - 1].isSpace());
    case CommentStyle::Slashes:
        return QStringView(line).mid(at).startsWith(QLatin1String("//"));
    case CommentStyle::Dashes:
        return QStringView(line).mid(at).startsWith(QLatin1String("--"));
    case CommentStyle::None:
        break;
    }
    return false;
}

bool isWordCharacter(QChar c)
{
    return c.isLetterOrNumber() || c == QLatin1Char('_');
}

} // namespace

QVector<CodePiece> colorLine(const QString &line, const QString &language)
{
    if (line.size() > longestColored)
        return {{line, "text"}};
    const QString lower = language.toLower();
    const CommentStyle comments = commentsOf(lower);
    QVector<CodePiece> pieces;
    const auto add = [&pieces](const QString &text, const char *color) {
        if (!pieces.isEmpty() && qstrcmp(pieces.last().color, color) == 0)
            pieces.last().text += text;
        else
            pieces.append({text, color});
    };
    for (qsizetype at = 0; at < line.size();) {
        const QChar c = line[at];
        qsizetype end = at + 1;
        const char *color = "text";
        if (startsComment(line, at, comments)) {
            end = line.size();
            color = "text.3";
        } else if (c == QLatin1Char('"') || c == QLatin1Char('\'')) {
            while (end < line.size() && line[end] != c)
                end += line[end] == QLatin1Char('\\') ? 2 : 1;
            end = std::min(end + 1, line.size());
            color = "chart.3";
        } else if (isWordCharacter(c)) {
            while (end < line.size()
                   && (isWordCharacter(line[end]) || (c.isDigit() && line[end] == QLatin1Char('.'))))
                ++end;
            const bool isName
                = at > 0 && (line[at - 1] == QLatin1Char('-') || line[at - 1] == QLatin1Char('.'));
            if (c.isDigit() && !isName)
                color = "chart.2";
            else if (!isName && !lower.isEmpty() && isKeyword(line.mid(at, end - at)))
                color = "chart.1";
        }
        add(line.mid(at, end - at), color);
        at = end;
    }
    return pieces;
}

} // namespace ui
