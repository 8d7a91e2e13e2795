#include "ui/shell/add_target_dialog.h"

#include "models/engine/endpoint_list.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStyle>

namespace ui {

AddTargetDialog::AddTargetDialog(const Theme &theme, models::EndpointList &endpoints, QWidget *parent)
    : QDialog(parent), m_endpoints(endpoints), m_name(new QLineEdit), m_url(new QLineEdit),
      m_key(new QLineEdit), m_error(new StateLabel(theme))
{
    setWindowTitle(tr("Add target"));
    setMinimumWidth(460);
    m_name->setPlaceholderText(tr("Optional: how it is called in the window"));
    m_url->setPlaceholderText(QStringLiteral("http://host:8000/v1"));
    m_url->setFont(theme.font(Theme::FontRole::Mono));
    m_key->setEchoMode(QLineEdit::Password);
    m_key->setPlaceholderText(tr("Optional: kept in the keyring"));
    m_error->hide();

    auto *form = new QFormLayout(this);
    form->setContentsMargins(16, 16, 16, 16);
    form->setSpacing(12);
    form->addRow(tr("Base &URL"), m_url);
    form->addRow(QString(), m_error);
    form->addRow(tr("&Name"), m_name);
    form->addRow(tr("API &key"), m_key);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    auto *add = buttons->addButton(tr("Add target"), QDialogButtonBox::AcceptRole);
    add->setProperty("primary", true);
    form->addRow(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &AddTargetDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_url, &QLineEdit::editingFinished, this, &AddTargetDialog::checkUrl);
}

void AddTargetDialog::showError(const QString &text)
{
    m_url->setProperty("invalid", !text.isEmpty());
    m_url->style()->polish(m_url);
    m_error->setState(State::Err, text, text);
    m_error->setVisible(!text.isEmpty());
}

void AddTargetDialog::checkUrl()
{
    QString error;
    if (!m_url->text().isEmpty())
        models::EndpointList::normalized(m_url->text(), &error);
    showError(error);
}

void AddTargetDialog::accept()
{
    QString error;
    const int row = m_endpoints.add(m_name->text(), m_url->text(), m_key->text(), &error);
    if (row < 0) {
        showError(error);
        m_url->setFocus();
        return;
    }
    m_endpoints.setCurrentRow(row);
    QDialog::accept();
}

} // namespace ui
