#pragma once

class QWidget;

namespace ui {

/// Version, what it is, licence, and what it is built on.
void showAbout(QWidget *parent);

} // namespace ui
