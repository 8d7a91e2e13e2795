#pragma once

#include <QColor>
#include <QFont>
#include <QHash>
#include <QIcon>
#include <QObject>
#include <QPalette>
#include <QPixmap>
#include <QTemporaryDir>
#include <array>

namespace ui {

/// The colours, fonts, icons and style sheet of the window, from resources/theme/tokens.json and
/// theme.qss.in. One object, made in app/, handed down by reference. Painted widgets ask it in paintEvent and
/// repaint on changed().
class Theme : public QObject
{
    Q_OBJECT

public:
    enum class Mode { Dark, Light };
    Q_ENUM(Mode)

    /// Sizes in pixels at 100 %: see design section 1. Mono is Hack 12 (numbers in columns, identifiers,
    /// code, logs).
    enum class FontRole { Caption, Secondary, Body, Section, Title, Kpi, Mono, MonoSmall };

    explicit Theme(Mode mode = Mode::Dark, QObject *parent = nullptr);

    [[nodiscard]] Mode mode() const { return m_mode; }
    void setMode(Mode mode);

    /// Size of the type, 80 to 200 per cent; other values are clamped.
    [[nodiscard]] int zoom() const { return m_zoom; }
    void setZoom(int percent);

    /// `name` as in tokens.json: "bg.panel", "text.2", "chart.1". Unknown names are a bug: magenta and a
    /// warning.
    [[nodiscard]] QColor color(const QString &name) const;
    [[nodiscard]] bool hasColor(const QString &name) const;

    /// `name` is a file of resources/theme/icons/<mode>/ without ".svg". The icon is of the current mode: ask
    /// again on changed().
    [[nodiscard]] QIcon icon(const QString &name) const;
    [[nodiscard]] QString iconPath(const QString &name) const;

    [[nodiscard]] const QFont &font(FontRole role) const;
    [[nodiscard]] QPalette palette() const;
    [[nodiscard]] QString styleSheet() const;

    /// Fusion, palette, font and style sheet on the application; again at every change.
    void applyToApplication();

signals:
    void changed();

private:
    void load();
    void makeFonts();
    [[nodiscard]] QString sheetForQt() const;

    Mode m_mode;
    int m_zoom = 100;
    bool m_applied = false;
    QTemporaryDir m_sheetFolder;
    QHash<QString, QColor> m_colors;
    mutable QHash<QString, QIcon> m_icons; // of this mode, as they were asked for: an SVG is read once
    std::array<QFont, std::size_t(FontRole::MonoSmall) + 1> m_fonts;
};

} // namespace ui
