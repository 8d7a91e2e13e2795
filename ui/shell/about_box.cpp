#include "ui/shell/about_box.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QVBoxLayout>

namespace ui {

void showAbout(QWidget *parent)
{
    QDialog dialog(parent);
    dialog.setWindowTitle(QObject::tr("About Slipway"));
    auto *title = new QLabel(QObject::tr("Slipway %1").arg(QCoreApplication::applicationVersion()));
    title->setProperty("role", QStringLiteral("title"));
    auto *text = new QLabel(QObject::tr("Takes a large model from a recipe to a served, watched endpoint.\n"
                                        "Apache License 2.0."));
    auto *parts
        = new QLabel(QObject::tr("Qt %1, Qt Charts, QtKeychain, llama.cpp, Boost, libcurl, SQLite, md4c, "
                                 "nlohmann JSON, spdlog, yaml-cpp, CLI11.\nFonts: Inter, Hack.")
                         .arg(QString::fromLatin1(qVersion())));
    parts->setProperty("role", QStringLiteral("secondary"));
    parts->setWordWrap(true);
    auto *mark = new QLabel;
    mark->setPixmap(QIcon(QStringLiteral(":/theme/slipway.svg")).pixmap(48, 48));
    auto *head = new QHBoxLayout;
    head->setSpacing(12);
    head->addWidget(mark);
    head->addWidget(title, 1);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto *layout = new QVBoxLayout(&dialog);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addLayout(head);
    layout->addWidget(text);
    layout->addWidget(parts);
    layout->addWidget(buttons);
    dialog.setFixedWidth(420);
    dialog.exec();
}

} // namespace ui
