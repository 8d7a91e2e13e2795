#pragma once

#include <QTimer>
#include <QWidget>

class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QSlider;

namespace models {
class ChatController;
}

namespace ui {

class SegmentedButtons;
class Sparkline;
class Theme;

/// Sampling parameters, system prompt, and the measurements of the newest answer. A parameter at its lowest
/// step is "Default": it is left out of the request.
class ParametersPanel : public QWidget
{
    Q_OBJECT

public:
    ParametersPanel(models::ChatController &controller, const Theme &theme, QWidget *parent = nullptr);

signals:
    void curlRequested();
    void pythonRequested();
    void inspectRequested();
    void exportRequested();

private:
    struct Row
    {
        QDoubleSpinBox *spin = nullptr;
        QSlider *slider = nullptr;
    };

    Row addRow(QGridLayout *grid, const QString &name, double min, double max, double step, int decimals,
               bool hasSlider);
    void addValue(QGridLayout *grid, const QString &name, QLabel *&value);
    QWidget *makeAnswerCard(const Theme &theme);
    QWidget *makeButtons();
    void load(); ///< From the controller
    void store(); ///< To the controller
    void updateAnswer();

    models::ChatController &m_controller;
    Row m_temperature, m_topP, m_topK, m_maxTokens, m_seed;
    QLabel *m_reasoningLabel;
    SegmentedButtons *m_reasoning;
    QPlainTextEdit *m_systemPrompt;
    Sparkline *m_spark;
    QLabel *m_ttft, *m_firstAnswer, *m_tpot, *m_prompt, *m_cached, *m_output, *m_servedBy;
    QTimer m_refresh;
    bool m_isLoading = false;
};

} // namespace ui
