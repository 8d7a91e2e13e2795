#pragma once

#include <string>
#include <string_view>

namespace models {

/// Takes the thoughts out of an answer whose server has no reasoning parser: what stands between <think> and
/// </think> at its very begin. Later in the text the tags are text. Fed in pieces as they arrive; a tag may
/// be cut anywhere.
class ThoughtSplitter
{
public:
    struct Parts
    {
        std::string content;
        std::string reasoning;
    };

    Parts add(std::string_view text);
    /// What was held back because it might have become a tag.
    Parts finish();

private:
    enum class Place { Begin, Thoughts, GapBeforeAnswer, Answer };

    void takeBegin();
    void takeThoughts(Parts &parts);
    void takeGap();

    Place m_place = Place::Begin;
    std::string m_held;
};

} // namespace models
