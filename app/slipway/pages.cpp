#include "app/slipway/pages.h"

#include "app/slipway/services.h"
#include "ui/shell/main_window.h"

namespace app {

struct Pages::Parts
{
};

Pages::Pages(Services &) : m_parts(std::make_unique<Parts>()) {}

void Pages::addTo(ui::MainWindow &) {}

Pages::~Pages() = default;

} // namespace app
