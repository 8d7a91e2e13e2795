#include "cluster/local/kubelet/resize_reader.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace cluster::local {

namespace {

constexpr std::size_t longestObject = 256;

std::optional<TerminalSize> parsed(const std::string &text)
{
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object())
        return std::nullopt;
    const auto number = [&object](const char *name) -> std::uint16_t {
        const auto found = object.find(name);
        const bool isSize
            = found != object.end() && found->is_number_unsigned() && found->get<std::uint64_t>() <= 0xFFFF;
        return isSize ? found->get<std::uint16_t>() : std::uint16_t{0};
    };
    const TerminalSize size{number("Width"), number("Height")};
    if (size.columns == 0 || size.rows == 0)
        return std::nullopt;
    return size;
}

} // namespace

std::vector<TerminalSize> ResizeReader::feed(std::string_view bytes)
{
    std::vector<TerminalSize> sizes;
    for (const char c : bytes) {
        if (m_object.empty() && c != '{')
            continue;
        m_object += c;
        if (c == '}') {
            if (const auto size = parsed(m_object); size)
                sizes.push_back(*size);
            m_object.clear();
        } else if (m_object.size() > longestObject) {
            m_object.clear();
        }
    }
    return sizes;
}

} // namespace cluster::local
