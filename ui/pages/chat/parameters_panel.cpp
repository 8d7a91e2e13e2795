#include "ui/pages/chat/parameters_panel.h"

#include "models/chat/chat_controller.h"
#include "models/chat/transcript.h"
#include "ui/pages/chat/answer_footer.h"
#include "ui/pages/chat/rule.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented_buttons.h"
#include "ui/widgets/sparkline.h"
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QVBoxLayout>
#include <cmath>

namespace ui {
namespace {

const QStringList efforts{QString(), QStringLiteral("low"), QStringLiteral("medium"), QStringLiteral("high")};

std::optional<double> valueOf(const QDoubleSpinBox *spin)
{
    return spin->value() > spin->minimum() ? std::optional(spin->value()) : std::nullopt;
}

template<typename T>
void setValue(QDoubleSpinBox *spin, const std::optional<T> &value)
{
    spin->setValue(value ? static_cast<double>(*value) : spin->minimum());
}

} // namespace

ParametersPanel::ParametersPanel(models::ChatController &controller, const Theme &theme, QWidget *parent)
    : QWidget(parent), m_controller(controller), m_reasoningLabel(new QLabel(tr("Reasoning"))),
      m_reasoning(new SegmentedButtons(tr("Reasoning effort"))), m_systemPrompt(new QPlainTextEdit),
      m_spark(new Sparkline(theme, QStringLiteral("chart.1")))
{
    auto *grid = new QGridLayout;
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(8);
    grid->setColumnStretch(1, 1);
    m_temperature = addRow(grid, tr("Temperature"), -0.05, 2, 0.05, 2, true);
    m_topP = addRow(grid, tr("Top p"), 0, 1, 0.05, 2, true);
    m_topK = addRow(grid, tr("Top k"), -1, 200, 1, 0, true);
    m_maxTokens = addRow(grid, tr("Max tokens"), 0, 131072, 1, 0, false);
    m_seed = addRow(grid, tr("Seed"), -1, 2147483647, 1, 0, false);
    m_reasoningLabel->setProperty("role", QStringLiteral("secondary"));
    for (const QString &name : {tr("Default"), tr("Low"), tr("Medium"), tr("High")})
        m_reasoning->addSegment(name);
    grid->addWidget(m_reasoningLabel, grid->rowCount(), 0);
    grid->addWidget(m_reasoning, grid->rowCount() - 1, 1, 1, 2);

    auto *promptLabel = new QLabel(tr("System prompt"));
    promptLabel->setProperty("role", QStringLiteral("secondary"));
    promptLabel->setBuddy(m_systemPrompt);
    m_systemPrompt->setAccessibleName(tr("System prompt"));
    m_systemPrompt->setObjectName(QStringLiteral("systemPrompt"));
    m_systemPrompt->setTabChangesFocus(true);
    m_systemPrompt->setFixedHeight(84);
    m_systemPrompt->setPlaceholderText(tr("None"));

    auto *content = new QWidget;
    auto *layout = new QVBoxLayout(content);
    layout->setContentsMargins(14, 12, 14, 12);
    layout->setSpacing(11);
    layout->addLayout(grid);
    layout->addWidget(promptLabel);
    layout->addWidget(m_systemPrompt);
    layout->addWidget(new Rule(theme));
    layout->addWidget(makeAnswerCard(theme));
    layout->addWidget(new Rule(theme));
    layout->addWidget(makeButtons());
    layout->addStretch(1);
    auto *scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(content);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll);

    connect(m_reasoning, &SegmentedButtons::currentChanged, this, &ParametersPanel::store);
    connect(m_systemPrompt, &QPlainTextEdit::textChanged, this, &ParametersPanel::store);
    connect(&controller, &models::ChatController::settingsChanged, this, &ParametersPanel::load);
    connect(&controller, &models::ChatController::modelsChanged, this, &ParametersPanel::load);
    connect(&controller, &models::ChatController::conversationChanged, this, &ParametersPanel::updateAnswer);
    // The numbers come 30 times a second; nobody reads more than four.
    m_refresh.setSingleShot(true);
    m_refresh.setInterval(250);
    connect(&m_refresh, &QTimer::timeout, this, &ParametersPanel::updateAnswer);
    connect(&controller, &models::ChatController::progressed, this, [this] {
        if (!m_refresh.isActive())
            m_refresh.start();
    });
    load();
    updateAnswer();
}

ParametersPanel::Row ParametersPanel::addRow(QGridLayout *grid, const QString &name, double min, double max,
                                             double step, int decimals, bool hasSlider)
{
    Row row;
    const int at = grid->rowCount();
    auto *label = new QLabel(name);
    label->setProperty("role", QStringLiteral("secondary"));
    row.spin = new QDoubleSpinBox;
    row.spin->setDecimals(decimals);
    row.spin->setRange(min, max);
    row.spin->setSingleStep(step);
    row.spin->setSpecialValueText(tr("Default"));
    row.spin->setValue(min);
    row.spin->setAccessibleName(name);
    row.spin->setFixedWidth(92);
    row.spin->setKeyboardTracking(false);
    label->setBuddy(row.spin);
    grid->addWidget(label, at, 0);
    if (hasSlider) {
        row.slider = new QSlider(Qt::Horizontal);
        row.slider->setRange(0, qRound((max - min) / step));
        row.slider->setAccessibleName(tr("%1 slider").arg(name));
        grid->addWidget(row.slider, at, 1);
        connect(row.slider, &QSlider::valueChanged, row.spin,
                [row, min, step](int value) { row.spin->setValue(min + value * step); });
    }
    connect(row.spin, &QDoubleSpinBox::valueChanged, this, [this, row, min, step](double value) {
        if (row.slider) {
            const QSignalBlocker blocker(row.slider);
            row.slider->setValue(qRound((value - min) / step));
        }
        store();
    });
    grid->addWidget(row.spin, at, 2, Qt::AlignTrailing);
    return row;
}

void ParametersPanel::addValue(QGridLayout *grid, const QString &name, QLabel *&value)
{
    const int row = grid->rowCount();
    auto *label = new QLabel(name);
    label->setProperty("role", QStringLiteral("secondary"));
    value = new ElidedLabel;
    value->setProperty("mono", true);
    value->setAlignment(Qt::AlignRight | Qt::AlignAbsolute | Qt::AlignVCenter);
    value->setAccessibleName(name);
    // A line of its own: a long name may take all that its own label leaves, not what the longest one does.
    auto *line = new QHBoxLayout;
    line->setSpacing(12);
    line->addWidget(label);
    line->addWidget(value, 1);
    grid->addLayout(line, row, 0);
}

QWidget *ParametersPanel::makeAnswerCard(const Theme &theme)
{
    auto *card = new QWidget;
    auto *title = new QLabel(tr("This answer"));
    QFont bold = theme.font(Theme::FontRole::Body);
    bold.setWeight(QFont::DemiBold);
    title->setFont(bold);
    auto *unit = new QLabel(tr("tokens per second"));
    unit->setProperty("role", QStringLiteral("secondary"));
    auto *head = new QHBoxLayout;
    head->addWidget(title);
    head->addStretch(1);
    head->addWidget(unit);
    m_spark->setFixedHeight(34);
    m_spark->setAccessibleName(tr("Tokens per second of this answer"));
    auto *grid = new QGridLayout;
    grid->setVerticalSpacing(5);
    addValue(grid, tr("Time to first token"), m_ttft);
    addValue(grid, tr("First token of the answer"), m_firstAnswer);
    addValue(grid, tr("Time per output token"), m_tpot);
    addValue(grid, tr("Prompt"), m_prompt);
    addValue(grid, tr("Prefix cache hit"), m_cached);
    addValue(grid, tr("Output"), m_output);
    addValue(grid, tr("Served by"), m_servedBy);
    for (QLabel *value : {m_ttft, m_firstAnswer, m_tpot, m_prompt, m_cached, m_output, m_servedBy})
        value->setFont(theme.font(Theme::FontRole::Mono));
    auto *layout = new QVBoxLayout(card);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addLayout(head);
    layout->addWidget(m_spark);
    layout->addLayout(grid);
    return card;
}

QWidget *ParametersPanel::makeButtons()
{
    auto *widget = new QWidget;
    auto *grid = new QGridLayout(widget);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setSpacing(6);
    auto *curl = new QPushButton(tr("Copy as curl"));
    auto *python = new QPushButton(tr("Copy as Python"));
    auto *show = new QPushButton(tr("Show request"));
    auto *save = new QPushButton(tr("Export…"));
    grid->addWidget(curl, 0, 0);
    grid->addWidget(python, 0, 1);
    grid->addWidget(show, 1, 0);
    grid->addWidget(save, 1, 1);
    connect(curl, &QPushButton::clicked, this, &ParametersPanel::curlRequested);
    connect(python, &QPushButton::clicked, this, &ParametersPanel::pythonRequested);
    connect(show, &QPushButton::clicked, this, &ParametersPanel::inspectRequested);
    connect(save, &QPushButton::clicked, this, &ParametersPanel::exportRequested);
    return widget;
}

void ParametersPanel::load()
{
    m_isLoading = true;
    const models::ChatParameters p = m_controller.parameters();
    setValue(m_temperature.spin, p.temperature);
    setValue(m_topP.spin, p.topP);
    setValue(m_topK.spin, p.topK);
    m_maxTokens.spin->setMaximum(static_cast<double>(m_controller.contextLimit().value_or(131072)));
    setValue(m_maxTokens.spin, p.maxTokens);
    setValue(m_seed.spin, p.seed);
    m_reasoning->setCurrent(std::max(0, static_cast<int>(efforts.indexOf(p.reasoningEffort))));
    if (m_systemPrompt->toPlainText() != m_controller.systemPrompt())
        m_systemPrompt->setPlainText(m_controller.systemPrompt());
    m_systemPrompt->setEnabled(!m_controller.isCompletionMode());
    m_systemPrompt->setToolTip(m_controller.isCompletionMode() ? tr("A completion has no system prompt.")
                                                               : QString());
    m_isLoading = false;
}

void ParametersPanel::store()
{
    if (m_isLoading)
        return;
    models::ChatParameters p;
    p.temperature = valueOf(m_temperature.spin);
    if (p.temperature) // Steps of 0.05 from -0.05: what is meant is 0, not 1e-17.
        p.temperature = std::max(0.0, std::round(*p.temperature * 100) / 100);
    p.topP = valueOf(m_topP.spin);
    if (const auto topK = valueOf(m_topK.spin))
        p.topK = static_cast<int>(*topK);
    if (const auto maxTokens = valueOf(m_maxTokens.spin))
        p.maxTokens = static_cast<int>(*maxTokens);
    if (const auto seed = valueOf(m_seed.spin))
        p.seed = static_cast<qint64>(*seed);
    p.reasoningEffort = efforts.value(m_reasoning->current());
    m_controller.setParameters(p);
    m_controller.setSystemPrompt(m_systemPrompt->toPlainText());
}

void ParametersPanel::updateAnswer()
{
    const QString none = QStringLiteral("–");
    const QLocale locale;
    const auto tokens = [&](const std::optional<qint64> &count) {
        return count ? tr("%1 tokens").arg(locale.toString(*count)) : none;
    };
    const auto time = [&](const std::optional<std::chrono::microseconds> &value) {
        return value ? milliseconds(*value) : none;
    };
    models::AnswerMeasurements m;
    bool hasReasoning = false;
    const auto &messages = m_controller.transcript()->messages();
    for (const models::ChatMessage &message : messages)
        hasReasoning = hasReasoning || !message.reasoning.isEmpty();
    if (!messages.isEmpty())
        m = messages.last().measurements;
    const bool isRunning = m_controller.isBusy();
    const models::AnswerRate &rate = m_controller.rate();
    m_spark->setValues(rate.samples());
    m_ttft->setText(isRunning && rate.ttft() ? milliseconds(*rate.ttft()) : time(m.ttft));
    m_firstAnswer->setText(time(m.firstAnswer));
    m_tpot->setText(time(m.tpot));
    m_prompt->setText(tokens(m.promptTokens));
    m_cached->setText(tokens(m.cachedTokens));
    m_output->setText(isRunning ? tokens(rate.tokens()) : tokens(m.completionTokens));
    m_servedBy->setText(m.servedBy.isEmpty() ? none : m.servedBy);
    m_servedBy->setToolTip(m.servedBy);
    const bool hasEffort = hasReasoning || !m_controller.parameters().reasoningEffort.isEmpty();
    m_reasoning->setVisible(hasEffort); // Only models that have reasoned take an effort.
    m_reasoningLabel->setVisible(hasEffort);
}

} // namespace ui
