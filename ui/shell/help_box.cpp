#include "ui/shell/help_box.h"

#include <QAccessible>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHash>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace ui {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("ui::HelpBox", text);
}

struct Key
{
    QString keys;
    QString does;
};

QString section(const QString &title, const QList<Key> &keys)
{
    if (keys.isEmpty())
        return {};
    QString rows;
    for (const Key &key : keys)
        rows += QStringLiteral("<tr><td width=\"170\"><code>%1</code></td><td>%2</td></tr>")
                    .arg(key.keys.toHtmlEscaped(), key.does.toHtmlEscaped());
    return QStringLiteral("<h4>%1</h4><table cellspacing=\"0\" cellpadding=\"3\">%2</table>")
        .arg(title.toHtmlEscaped(), rows);
}

/// What screen readers are told of the control serves everybody here.
QString aboutControl(const QWidget *focused)
{
    if (!focused)
        return {};
    const QAccessibleInterface *access
        = QAccessible::queryAccessibleInterface(const_cast<QWidget *>(focused));
    const QString name = access ? access->text(QAccessible::Name) : focused->accessibleName();
    QString more = focused->toolTip();
    if (more.isEmpty())
        more = focused->accessibleDescription();
    if (more.isEmpty() || more == name)
        return {}; // a name alone would stand there like an empty section
    return QStringLiteral("<p><b>%1</b>%2</p>")
        .arg(name.toHtmlEscaped(),
             (name.isEmpty() ? QString() : QStringLiteral(": ")) + more.toHtmlEscaped());
}

QString everyKey(const QList<Command> &commands)
{
    QStringList places;
    QHash<QString, QList<Key>> byPlace;
    for (const Command &command : commands) {
        if (command.shortcut.isEmpty())
            continue;
        if (!byPlace.contains(command.place))
            places.append(command.place);
        byPlace[command.place].append({command.shortcut, command.title});
    }
    QString text;
    for (const QString &place : places)
        text += section(place, byPlace[place]);
    return text;
}

QString keysInViews()
{
    return section(tr("Anywhere"),
                   {{tr("Ctrl+K"), tr("Find a page, a target or an action, and run it")},
                    {tr("Esc"), tr("Stop the answer that is coming; else close what is open")},
                    {tr("Tab, Shift+Tab"), tr("Next, previous control")}})
        + section(
               tr("In the question field"),
               {{tr("Ctrl+Enter"), tr("Send")}, {tr("Up, in an empty field"), tr("Edit the last question")}})
        + section(tr("In the transcript"),
                  {{tr("Up, Down"), tr("Previous, next message")},
                   {tr("Left, Right; Enter"), tr("Buttons of the message; press one")},
                   {tr("Shift+arrows, Ctrl+C"), tr("Select text; copy it, or the message")},
                   {tr("Alt+Left, Alt+Right"), tr("Scroll wide code")},
                   {tr("Home, End"), tr("First message; follow the answer")}})
        + section(tr("In a chart"),
                  {{tr("Left, Right, Home, End"), tr("Move the cross-hair of all charts")},
                   {tr("Ctrl+C"), tr("Copy the values at the cross-hair")},
                   {tr("Drag; double click"), tr("Look closer; back to live")}})
        + section(tr("In the log"),
                  {{tr("Home, End"), tr("First line; follow new lines")},
                   {tr("Ctrl+Shift+F"), tr("Filter by regular expression")},
                   {tr("Ctrl+C"), tr("Copy the selected lines, or all")}});
}

} // namespace

void showHelp(const QList<Command> &commands, const QWidget *focused, QWidget *parent)
{
    auto *dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Keys"));
    auto *text = new QTextBrowser;
    text->setAccessibleName(tr("Keys"));
    text->setOpenLinks(false);
    text->setHtml(aboutControl(focused) + everyKey(commands) + keysInViews());
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    auto *layout = new QVBoxLayout(dialog);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addWidget(text);
    layout->addWidget(buttons);
    dialog->resize(560, 620);
    dialog->show();
    text->setFocus();
}

} // namespace ui
