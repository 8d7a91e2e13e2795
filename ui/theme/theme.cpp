#include "ui/theme/theme.h"

#include <QApplication>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLoggingCategory>
#include <QRegularExpression>
#include <QStyle>
#include <QStyleFactory>

// Outside of the namespace, as the macro demands: a static library's resources are dropped unless named.
static void initThemeResources()
{
    Q_INIT_RESOURCE(theme);
}

namespace ui {

namespace {

QByteArray readResource(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        qWarning("theme: resource %s is missing from the program", qUtf8Printable(path));
    return file.readAll();
}

QString modeFolder(Theme::Mode mode)
{
    return mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light");
}

/// "font-size: 13px" becomes 16px at 125 %; other lengths stay, so that lines and radii stay crisp.
QString withFontSizesScaled(const QString &sheet, int percent)
{
    static const QRegularExpression size(QStringLiteral("font-size: (\\d+)px"));
    QString result;
    qsizetype done = 0;
    for (auto it = size.globalMatch(sheet); it.hasNext();) {
        const auto match = it.next();
        result += QStringView(sheet).mid(done, match.capturedStart(1) - done);
        result += QString::number(match.captured(1).toInt() * percent / 100);
        done = match.capturedEnd(1);
    }
    return result + QStringView(sheet).mid(done);
}

QFont newFont(Theme::FontRole role, int zoom)
{
    using FontRole = Theme::FontRole;
    struct Look
    {
        int size;
        QFont::Weight weight;
        bool mono;
    };
    const Look look = [role]() -> Look {
        switch (role) {
        case FontRole::Caption:
            return {11, QFont::Normal, false};
        case FontRole::Secondary:
            return {12, QFont::Normal, false};
        case FontRole::Body:
            return {13, QFont::Normal, false};
        case FontRole::Section:
            return {14, QFont::DemiBold, false};
        case FontRole::Title:
            return {18, QFont::DemiBold, false};
        case FontRole::Kpi:
            return {24, QFont::DemiBold, false};
        case FontRole::Mono:
            return {12, QFont::Normal, true};
        case FontRole::MonoSmall:
            return {11, QFont::Normal, true};
        }
        return {13, QFont::Normal, false};
    }();
    QFont font;
    // Hack has no ligatures and even digits; Inter would draw 4x4 as a multiplication sign (Qt 6.4 can't
    // switch that).
    font.setFamilies(look.mono ? QStringList{QStringLiteral("Hack"), QStringLiteral("DejaVu Sans Mono"),
                                             QStringLiteral("monospace")}
                               : QStringList{QStringLiteral("Inter"), QStringLiteral("Noto Sans Hebrew"),
                                             QStringLiteral("sans-serif")});
    font.setPixelSize(look.size * zoom / 100);
    font.setWeight(look.weight);
    if (look.mono)
        font.setStyleHint(QFont::Monospace);
    return font;
}

} // namespace

Theme::Theme(Mode mode, QObject *parent) : QObject(parent), m_mode(mode)
{
    initThemeResources();
    load();
    makeFonts();
}

void Theme::load()
{
    m_colors.clear();
    m_icons.clear();
    const auto tokens = QJsonDocument::fromJson(readResource(QStringLiteral(":/theme/tokens.json"))).object();
    const auto colors = tokens.value(modeFolder(m_mode)).toObject();
    for (auto it = colors.begin(); it != colors.end(); ++it)
        m_colors.insert(it.key(), QColor(it.value().toString()));
}

/// Made once: a new QFont looks for its family again, and paint events ask for fonts all the time.
void Theme::makeFonts()
{
    for (std::size_t role = 0; role < m_fonts.size(); ++role)
        m_fonts[role] = newFont(FontRole(role), m_zoom);
}

void Theme::setMode(Mode mode)
{
    if (mode == m_mode)
        return;
    m_mode = mode;
    load();
    if (m_applied)
        applyToApplication();
    emit changed();
}

void Theme::setZoom(int percent)
{
    const int zoom = qBound(80, percent, 200);
    if (zoom == m_zoom)
        return;
    m_zoom = zoom;
    makeFonts();
    if (m_applied)
        applyToApplication();
    emit changed();
}

QColor Theme::color(const QString &name) const
{
    const auto it = m_colors.constFind(name);
    if (it != m_colors.constEnd())
        return *it;
    qWarning("theme: no colour named %s in tokens.json", qUtf8Printable(name));
    return Qt::magenta;
}

bool Theme::hasColor(const QString &name) const
{
    return m_colors.contains(name);
}

QString Theme::iconPath(const QString &name) const
{
    return QStringLiteral(":/theme/icons/%1/%2.svg").arg(modeFolder(m_mode), name);
}

QIcon Theme::icon(const QString &name) const
{
    auto it = m_icons.constFind(name);
    if (it == m_icons.constEnd())
        it = m_icons.insert(name, QIcon(iconPath(name)));
    return *it;
}

const QFont &Theme::font(FontRole role) const
{
    return m_fonts[std::size_t(role)];
}

QPalette Theme::palette() const
{
    QPalette palette;
    const auto set = [this, &palette](QPalette::ColorRole role, const char *name) {
        palette.setColor(role, color(QString::fromLatin1(name)));
    };
    set(QPalette::Window, "bg.window");
    set(QPalette::WindowText, "text");
    set(QPalette::Base, "bg.input");
    set(QPalette::AlternateBase, "bg.raised");
    set(QPalette::Text, "text");
    set(QPalette::Button, "bg.raised");
    set(QPalette::ButtonText, "text");
    set(QPalette::BrightText, "err");
    set(QPalette::ToolTipBase, "bg.hover");
    set(QPalette::ToolTipText, "text");
    set(QPalette::Highlight, "accent");
    set(QPalette::HighlightedText, "text.onAccent");
    set(QPalette::Link, "link");
    set(QPalette::LinkVisited, "link");
    set(QPalette::PlaceholderText, "text.3");
    set(QPalette::Light, "line.control");
    set(QPalette::Midlight, "line");
    set(QPalette::Mid, "line.control");
    set(QPalette::Dark, "line");
    set(QPalette::Shadow, "bg.window");
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, color(QStringLiteral("text.disabled")));
    return palette;
}

QString Theme::styleSheet() const
{
    auto sheet = QString::fromUtf8(readResource(QStringLiteral(":/theme/theme.qss.in")));
    for (auto it = m_colors.begin(); it != m_colors.end(); ++it) {
        const QString token = it.key();
        const QString mark = u'@' + QString(token).replace(u'.', u'-') + u'@';
        sheet.replace(mark, it.value().name());
    }
    sheet.replace(QStringLiteral("@icons@"), QStringLiteral(":/theme/icons/") + modeFolder(m_mode));
    return withFontSizesScaled(sheet, m_zoom);
}

/// The address of the current sheet, as a file that Qt reads again for each new style; where no file can be
/// written (a full disk, a cleaned-up folder) the sheet itself.
QString Theme::sheetForQt() const
{
    const QString path = m_sheetFolder.filePath(QStringLiteral("theme.qss"));
    const QString sheet = styleSheet();
    const QByteArray bytes = sheet.toUtf8();
    QFile file(path);
    const bool isWritten = m_sheetFolder.isValid() && file.open(QFile::WriteOnly | QFile::Truncate)
        && file.write(bytes) == bytes.size() && file.flush();
    return isWritten ? QStringLiteral("file:///") + path : sheet;
}

void Theme::applyToApplication()
{
    QApplication::setFont(font(FontRole::Body));
    QApplication::setPalette(palette());
    const QString sheet = sheetForQt();
    if (m_applied && qApp->styleSheet() == sheet) {
        // A new style under an unchanged sheet, a file that is read again, is one pass over all widgets.
        // Replacing the sheet makes Qt polish each widget once for each of its ancestors: five times as long.
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    } else {
        qApp->setStyleSheet(QString()); // off and on again are two passes, still faster than replacing
        if (!m_applied)
            QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
        qApp->setStyleSheet(sheet);
    }
    m_applied = true;
}

} // namespace ui
