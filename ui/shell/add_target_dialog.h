#pragma once

#include <QDialog>

class QLabel;
class QLineEdit;

namespace models {
class EndpointList;
}

namespace ui {

class StateLabel;
class Theme;

/// Asks for the base URL of any server that speaks OpenAI's API, and its key.
class AddTargetDialog : public QDialog
{
    Q_OBJECT

public:
    AddTargetDialog(const Theme &theme, models::EndpointList &endpoints, QWidget *parent = nullptr);

    void accept() override;

private:
    void showError(const QString &text);
    void checkUrl();

    models::EndpointList &m_endpoints;
    QLineEdit *m_name;
    QLineEdit *m_url;
    QLineEdit *m_key;
    StateLabel *m_error;
};

} // namespace ui
