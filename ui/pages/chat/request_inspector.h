#pragma once

#include <QDialog>

class QLabel;
class QPlainTextEdit;
class QTableView;
class QTabWidget;

namespace models {
class RequestLog;
}

namespace ui {

class Theme;

/// The last request as it was sent, and the events of its answer as they came, with their times. Not modal.
class RequestInspector : public QDialog
{
    Q_OBJECT

public:
    RequestInspector(models::RequestLog &log, const Theme &theme, QWidget *parent = nullptr);

private:
    void updateRequest();
    void showEventText(const QModelIndex &index);

    models::RequestLog &m_log;
    QPlainTextEdit *m_request;
    QTableView *m_events;
    QPlainTextEdit *m_event;
    QLabel *m_outcome;
};

} // namespace ui
