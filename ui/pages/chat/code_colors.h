#pragma once

#include <QString>
#include <QVector>

namespace ui {

/// A piece of a line of code with the name of its colour in tokens.json.
struct CodePiece
{
    QString text;
    const char *color = "text";
};

/// Comments, strings, numbers and the commonest keywords of one line. A hint for the eye, not a parser: each
/// line stands alone, and an unknown language has strings and numbers only.
QVector<CodePiece> colorLine(const QString &line, const QString &language);

} // namespace ui
