#include "ui/shell/fuzzy_match.h"

#include <vector>

namespace ui {

namespace {

constexpr int Hit = 1;
constexpr int InARow = 6;
constexpr int WordBegins = 6;
constexpr int TextBegins = 3;
constexpr int None = -1;

bool beginsWord(QStringView text, qsizetype at)
{
    return at == 0 || !text[at - 1].isLetterOrNumber() || (text[at].isUpper() && text[at - 1].isLower());
}

} // namespace

std::optional<int> fuzzyScore(QStringView typed, QStringView text)
{
    QString letters;
    for (const QChar c : typed)
        if (!c.isSpace())
            letters += c.toCaseFolded();
    // best[j]: the best score with the letters so far, the last of them at text[j]. Texts are short: n*m is
    // nothing.
    const auto size = size_t(text.size());
    std::vector<int> best(size, None);
    bool isFirst = true;
    for (const QChar letter : letters) {
        std::vector<int> next(size, None);
        int before = None; // the best of best[0 … j-2]
        for (size_t j = 0; j < size; ++j) {
            if (j >= 2)
                before = qMax(before, best[j - 2]);
            const auto at = qsizetype(j);
            if (text[at].toCaseFolded() != letter)
                continue;
            const int here = Hit + (beginsWord(text, at) ? WordBegins : 0) + (at == 0 ? TextBegins : 0);
            if (isFirst)
                next[j] = here;
            else if (j >= 1 && best[j - 1] != None)
                next[j] = qMax(best[j - 1] + here + InARow, before == None ? None : before + here);
            else if (before != None)
                next[j] = before + here;
        }
        best = std::move(next);
        isFirst = false;
    }
    if (letters.isEmpty())
        return 0;
    int top = None;
    for (const int score : best)
        top = qMax(top, score);
    return top == None ? std::nullopt : std::optional(top);
}

} // namespace ui
