// YAML as kubectl reads it: plain scalars become what go-yaml makes of them.

#include "cluster/kube/discovery.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace cluster {

namespace {

using Json = nlohmann::json;

constexpr int deepest = 100;
constexpr int mostNodes = 1000000; // aliases can multiply a small text

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> words)
{
    return std::find(words.begin(), words.end(), text) != words.end();
}

bool isDecimalFloat(std::string_view text)
{
    bool hasDigit = false;
    for (const char c : text) {
        hasDigit = hasDigit || (c >= '0' && c <= '9');
        if (std::string_view("+-.0123456789eE").find(c) == std::string_view::npos)
            return false;
    }
    return hasDigit;
}

/// A whole number in any of Go's bases ("12", "-3", "0x1f", "0b1", "017"); nothing if it is none.
std::optional<Json> integer(std::string_view text)
{
    const bool isNegative = text.starts_with('-');
    if (isNegative || text.starts_with('+'))
        text.remove_prefix(1);
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        base = 16;
    else if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
        base = 2;
    else if (text.size() > 2 && text[0] == '0' && (text[1] == 'o' || text[1] == 'O'))
        base = 8;
    if (base != 10) {
        text.remove_prefix(2);
    } else if (text.size() > 1 && text[0] == '0') {
        base = 8;
        text.remove_prefix(1);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    if (!isNegative)
        return Json(value);
    if (value > std::uint64_t{1} << 63U)
        return std::nullopt;
    return Json(static_cast<std::int64_t>(0 - value));
}

Json plainScalar(const std::string &text)
{
    if (text.empty() || isOneOf(text, {"~", "null", "Null", "NULL"}))
        return nullptr;
    if (isOneOf(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}))
        return true;
    if (isOneOf(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}))
        return false;
    if (std::string_view("+-.0123456789").find(text.front()) == std::string_view::npos)
        return text;
    if (const auto number = integer(text))
        return *number;
    if (isDecimalFloat(text)) {
        const std::string_view digits = std::string_view(text).substr(text.front() == '+' ? 1 : 0);
        double value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value))
            return value;
    }
    return text;
}

class Converter
{
public:
    Result<Json> convert(const YAML::Node &node, int depth = 0)
    {
        if (depth > deepest || ++m_count > mostNodes)
            return failAt(node, "nested too deeply, or too large when its aliases are followed");
        if (node.IsScalar())
            return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str" ? Json(node.Scalar())
                                                                              : plainScalar(node.Scalar());
        if (node.IsSequence())
            return sequence(node, depth);
        if (node.IsMap())
            return map(node, depth);
        return Json(nullptr);
    }

private:
    static tl::unexpected<Error> failAt(const YAML::Node &node, const std::string &what)
    {
        const YAML::Mark mark = node.Mark();
        return fail(ErrorCode::InvalidArgument,
                    "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1)
                        + " of the manifest: " + what);
    }

    Result<Json> sequence(const YAML::Node &node, int depth)
    {
        Json array = Json::array();
        for (const YAML::Node &entry : node) {
            Result<Json> value = convert(entry, depth + 1);
            if (!value)
                return value;
            array.push_back(std::move(*value));
        }
        return array;
    }

    Result<Json> map(const YAML::Node &node, int depth)
    {
        Json object = Json::object();
        Json merged = Json::object();
        for (const auto &entry : node) {
            if (!entry.first.IsScalar())
                return failAt(entry.first, "a key that is no plain word");
            const std::string &key = entry.first.Scalar();
            if (object.contains(key))
                return failAt(entry.first, "key \"" + key + "\" is there twice");
            Result<Json> value = convert(entry.second, depth + 1);
            if (!value)
                return value;
            if (key != "<<")
                object[key] = std::move(*value);
            else if (!takeMerge(*value, merged))
                return failAt(entry.second, "a merge key (<<) of something that is no map");
        }
        for (auto &[key, value] : merged.items()) {
            if (!object.contains(key))
                object[key] = std::move(value);
        }
        return object;
    }

    static bool takeMerge(const Json &value, Json &merged)
    {
        if (value.is_object()) {
            for (const auto &[key, entry] : value.items()) {
                if (!merged.contains(key))
                    merged[key] = entry;
            }
            return true;
        }
        return value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json &entry) {
                   return entry.is_object() && takeMerge(entry, merged);
               });
    }

    int m_count = 0;
};

/// Sees only where documents begin.
class DocumentStarts : public YAML::EventHandler
{
public:
    YAML::Mark last;
    bool advances = true;

    void OnDocumentStart(const YAML::Mark &mark) override
    {
        advances = m_isFirst || mark.pos > last.pos;
        m_isFirst = false;
        last = mark;
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t, const std::string &) override {}
    void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                         YAML::EmitterStyle::value) override
    {
    }
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                    YAML::EmitterStyle::value) override
    {
    }
    void OnMapEnd() override {}

private:
    bool m_isFirst = true;
};

/// yaml-cpp 0.7 takes a comma where a document should begin for an empty document, without ever going past
/// it.
Status checkDocumentsEnd(const std::string &text)
{
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStarts starts;
    while (parser.HandleNextDocument(starts)) {
        if (!starts.advances)
            return fail(ErrorCode::InvalidArgument,
                        "the manifest is no proper YAML: line " + std::to_string(starts.last.line + 1)
                            + ", column " + std::to_string(starts.last.column + 1)
                            + ": no document begins like that");
    }
    return {};
}

/// A List's items become documents of their own.
void addDocument(Json document, std::vector<Json> &documents)
{
    const auto items = document.find("items");
    const auto kind = document.find("kind");
    const bool isList = items != document.end() && items->is_array() && kind != document.end()
        && kind->is_string() && kind->get_ref<const std::string &>().ends_with("List");
    if (!isList) {
        documents.push_back(std::move(document));
        return;
    }
    for (Json &item : *items)
        documents.push_back(std::move(item));
}

} // namespace

Result<std::vector<Json>> parseManifests(const std::string &text)
{
    try {
        if (Status checked = checkDocumentsEnd(text); !checked)
            return tl::unexpected(checked.error());
        std::vector<Json> documents;
        for (const YAML::Node &node : YAML::LoadAll(text)) {
            if (!node.IsDefined() || node.IsNull())
                continue; // only comments between two ---
            Result<Json> document = Converter().convert(node);
            if (!document)
                return tl::unexpected(document.error());
            if (!document->is_object())
                return fail(ErrorCode::InvalidArgument,
                            "line " + std::to_string(node.Mark().line + 1)
                                + " of the manifest: a document that is no object");
            addDocument(std::move(*document), documents);
        }
        return documents;
    } catch (const YAML::Exception &exception) {
        return fail(ErrorCode::InvalidArgument,
                    "the manifest is no proper YAML: line " + std::to_string(exception.mark.line + 1)
                        + ", column " + std::to_string(exception.mark.column + 1) + ": " + exception.msg);
    }
}

} // namespace cluster
