#include "ui/pages/chat/request_inspector.h"

#include "models/chat/request_log.h"
#include "ui/theme/theme.h"
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace ui {
namespace {

QPlainTextEdit *makeText(const Theme &theme, const QString &name)
{
    auto *text = new QPlainTextEdit;
    text->setReadOnly(true);
    text->setFont(theme.font(Theme::FontRole::Mono));
    text->setAccessibleName(name);
    return text;
}

} // namespace

RequestInspector::RequestInspector(models::RequestLog &log, const Theme &theme, QWidget *parent)
    : QDialog(parent), m_log(log), m_request(makeText(theme, tr("Request text"))), m_events(new QTableView),
      m_event(makeText(theme, tr("Event text"))), m_outcome(new QLabel)
{
    setWindowTitle(tr("Request and stream"));
    setObjectName(QStringLiteral("requestInspector"));
    resize(760, 560);
    m_events->setModel(&log);
    m_events->setAccessibleName(tr("Events"));
    m_events->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_events->verticalHeader()->hide();
    m_events->verticalHeader()->setDefaultSectionSize(26);
    m_events->setFont(theme.font(Theme::FontRole::Mono));
    m_events->setColumnWidth(models::RequestLog::TimeColumn, 90);
    m_events->setColumnWidth(models::RequestLog::SizeColumn, 80);
    m_events->horizontalHeader()->setStretchLastSection(true);
    m_events->setWordWrap(false);
    m_outcome->setWordWrap(true);

    auto *split = new QSplitter(Qt::Vertical);
    split->addWidget(m_events);
    split->addWidget(m_event);
    split->setStretchFactor(0, 2);
    auto *tabs = new QTabWidget;
    tabs->addTab(m_request, tr("Request"));
    tabs->addTab(split, tr("Answer events"));
    auto *copy = new QPushButton(tr("Copy all"));
    auto *close = new QPushButton(tr("Close"));
    auto *buttons = new QHBoxLayout;
    buttons->addWidget(m_outcome, 1);
    buttons->addWidget(copy);
    buttons->addWidget(close);
    auto *layout = new QVBoxLayout(this);
    layout->addWidget(tabs, 1);
    layout->addLayout(buttons);

    connect(copy, &QPushButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_log.allText()); });
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    connect(&log, &models::RequestLog::requestChanged, this, &RequestInspector::updateRequest);
    connect(m_events->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &RequestInspector::showEventText);
    connect(&log, &QAbstractItemModel::rowsInserted, this, [this] {
        // A table always has a current row: screen readers and Qt 6.4 both rely on it.
        if (!m_events->currentIndex().isValid())
            m_events->setCurrentIndex(m_log.index(0, 0));
    });
    updateRequest();
}

void RequestInspector::updateRequest()
{
    if (m_request->toPlainText() != m_log.request())
        m_request->setPlainText(m_log.request().isEmpty() ? tr("Nothing has been sent yet.")
                                                          : m_log.request());
    m_outcome->setText(m_log.outcome());
    if (m_log.rowCount() == 0)
        m_event->clear();
    else if (!m_events->currentIndex().isValid())
        m_events->setCurrentIndex(m_log.index(0, 0));
}

void RequestInspector::showEventText(const QModelIndex &index)
{
    if (index.isValid())
        m_event->setPlainText(m_log.eventText(index.row()));
}

} // namespace ui
