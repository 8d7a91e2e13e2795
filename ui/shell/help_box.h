#pragma once

#include "ui/shell/command_field.h"

class QWidget;

namespace ui {

/// F1: what the control with the keyboard is for, then every key: those of `commands` and those that work
/// inside a view. Does not block; closes with Esc.
void showHelp(const QList<Command> &commands, const QWidget *focused, QWidget *parent);

} // namespace ui
