#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// Reading of metrics pages for the tests of their writer: plain text cutting, so that writer and check share
/// nothing.
namespace tests {

struct PageLine
{
    std::string name;
    std::string labels; ///< As written, with braces; empty if there are none.
    std::string value; ///< As written.
    std::vector<std::string> labelNames; ///< In the order of the page.

    [[nodiscard]] std::string series() const { return name + labels; }
};

struct ShapedPage
{
    std::vector<std::pair<std::string, std::string>> types; ///< Name and type, in the order of the page.
    std::set<std::string> helpOf;
    std::vector<PageLine> lines;

    [[nodiscard]] double value(const std::string &series) const
    {
        for (const PageLine &line : lines) {
            if (line.series() == series)
                return std::stod(line.value);
        }
        throw std::runtime_error("not on the page: " + series);
    }
    [[nodiscard]] bool has(const std::string &series) const
    {
        for (const PageLine &line : lines) {
            if (line.series() == series)
                return true;
        }
        return false;
    }
};

/// Names of `{a="x",b="y"}`; a quote within a value is escaped.
inline std::vector<std::string> labelNamesOf(const std::string &labels)
{
    std::vector<std::string> names;
    std::string name;
    bool isQuoted = false;
    for (std::size_t i = 1; i + 1 < labels.size(); ++i) {
        const char c = labels[i];
        if (isQuoted) {
            i += c == '\\' ? 1 : 0;
            isQuoted = c != '"';
        } else if (c == '"') {
            isQuoted = true;
        } else if (c == '=') {
            names.push_back(name);
            name.clear();
        } else if (c != ',') {
            name += c;
        }
    }
    return names;
}

inline ShapedPage shapeOf(const std::string &text)
{
    ShapedPage page;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind("# HELP ", 0) == 0) {
            page.helpOf.insert(line.substr(7, line.find(' ', 7) - 7));
        } else if (line.rfind("# TYPE ", 0) == 0) {
            const auto end = line.find(' ', 7);
            page.types.emplace_back(line.substr(7, end - 7), line.substr(end + 1));
        } else if (!line.empty()) {
            const auto space = line.rfind(' ');
            const std::string series = line.substr(0, space);
            const auto brace = series.find('{');
            PageLine one{series.substr(0, brace),
                         brace == std::string::npos ? "" : series.substr(brace),
                         line.substr(space + 1),
                         {}};
            one.labelNames = labelNamesOf(one.labels);
            page.lines.push_back(std::move(one));
        }
    }
    return page;
}

/// Text of a recorded page of vLLM; `file` is relative to tests/data/observed-vllm.
inline std::string recordedPage(const std::string &file)
{
    std::ifstream stream(std::filesystem::path(SLIPWAY_TEST_DATA) / "observed-vllm" / file);
    std::stringstream whole;
    whole << stream.rdbuf();
    const std::string text = whole.str();
    const auto head = text.find("\nHTTP/1.");
    if (head == std::string::npos)
        throw std::runtime_error("not a recorded exchange: " + file);
    return text.substr(text.find("\n\n", head) + 2);
}

} // namespace tests
