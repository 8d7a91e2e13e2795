#pragma once

#include <functional>
#include <memory>

namespace ui {
class MainWindow;
}

namespace app {

struct Services;

/// Makes the pages that exist, with what they need, and hands them to the window. Outlived by the services;
/// the window goes after it.
class Pages
{
public:
    explicit Pages(Services &services);
    ~Pages();
    Pages(const Pages &) = delete;
    Pages &operator=(const Pages &) = delete;

    void addTo(ui::MainWindow &window);
    /// For pictures: asks the model a few questions, then calls `done` on the GUI thread; also when it could
    /// not. Call it once, with a target that answers.
    void askForPictures(std::function<void()> done);

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

} // namespace app
