#include "engine/serving/message_validation.h"

#include "engine/serving/python_text.h"

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kCustomParts
    = "list[union[...,...,...,...,ChatCompletionContentPartAudioParam,ChatCompletionContentPartVideoParam,..."
      ","
      "CustomChatCompletionContentSimpleImageParam,ChatCompletionContentPartImageEmbedsParam,"
      "CustomChatCompletionContentSimpleAudioParam,CustomChatCompletionContentSimpleVideoParam,str]]";

/// One type of the union of message types.
struct Branch
{
    const char *name;
    const char *role; ///< Null: any text.
    const char *parts; ///< How the list branch of `content` is called.
    bool contentRequired = true;
    bool contentNullable = false;
    const char *required = nullptr; ///< A further field that must be there.
    bool requiredFirst = false; ///< In the order of the complaints.
};

constexpr Branch kBranches[] = {
    {"ChatCompletionDeveloperMessageParam", "developer", "generator[...]"},
    {"ChatCompletionSystemMessageParam", "system", "generator[...]"},
    {"ChatCompletionUserMessageParam", "user", "generator[union[...,...,...,...]]"},
    {"ChatCompletionAssistantMessageParam", "assistant", "generator[union[...,...]]", false, true},
    {"ChatCompletionToolMessageParam", "tool", "generator[...]", true, false, "tool_call_id"},
    {"ChatCompletionFunctionMessageParam", "function", "", true, true, "name", true},
    {"CustomChatCompletionMessageParam", nullptr, kCustomParts, false, false},
};
constexpr int kHiddenNewIssues = 1; // of the newest version's eighth message type, beside its `author`

class MessageChecker
{
public:
    MessageChecker(const Json &message, std::vector<LocationPart> place)
        : m_message(message), m_place(std::move(place))
    {
    }

    /// No issues: some branch takes the message.
    std::vector<FieldIssue> check()
    {
        std::vector<FieldIssue> all;
        for (const Branch &branch : kBranches) {
            const std::vector<FieldIssue> issues = checkBranch(branch);
            if (issues.empty())
                return {};
            all.insert(all.end(), issues.begin(), issues.end());
        }
        return all;
    }

private:
    std::vector<LocationPart> at(const Branch &branch, const char *field = nullptr) const
    {
        auto place = m_place;
        place.push_back({branch.name, false, false});
        if (field)
            place.push_back({field, false, false});
        return place;
    }

    std::vector<FieldIssue> checkBranch(const Branch &branch) const
    {
        std::vector<FieldIssue> issues;
        if (!m_message.is_object()) {
            issues.push_back({"dict_type", at(branch), "Input should be a valid dictionary", m_message, {}});
            return issues;
        }
        checkContent(branch, issues);
        if (branch.requiredFirst)
            checkRequired(branch, issues);
        checkRole(branch, issues);
        if (!branch.requiredFirst)
            checkRequired(branch, issues);
        return issues;
    }

    void checkRequired(const Branch &branch, std::vector<FieldIssue> &issues) const
    {
        if (branch.required && !m_message.contains(branch.required))
            issues.push_back({"missing", at(branch, branch.required), "Field required", m_message, {}});
    }

    void checkRole(const Branch &branch, std::vector<FieldIssue> &issues) const
    {
        const auto role = m_message.find("role");
        if (role == m_message.end()) {
            issues.push_back({"missing", at(branch, "role"), "Field required", m_message, {}});
        } else if (branch.role && *role != branch.role) {
            const std::string expected = pythonRepr(std::string_view(branch.role));
            issues.push_back({"literal_error", at(branch, "role"), "Input should be " + expected, *role,
                              "{'expected': " + pythonRepr(std::string_view(expected)) + "}"});
        } else if (!branch.role && !role->is_string()) {
            issues.push_back(
                {"string_type", at(branch, "role"), "Input should be a valid string", *role, {}});
        }
    }

    void checkContent(const Branch &branch, std::vector<FieldIssue> &issues) const
    {
        const auto content = m_message.find("content");
        if (content == m_message.end()) {
            if (branch.contentRequired)
                issues.push_back({"missing", at(branch, "content"), "Field required", m_message, {}});
            return;
        }
        if (content->is_string() || (content->is_null() && branch.contentNullable) || partsFit(*content))
            return;
        auto asText = at(branch, "content");
        asText.push_back({"str", false, true});
        issues.push_back({"string_type", asText, "Input should be a valid string", *content, {}});
        auto asParts = at(branch, "content");
        asParts.push_back({branch.parts, false, true});
        if (branch.role)
            issues.push_back({"iterable_type", asParts, "Input should be iterable", *content, {}});
        else
            issues.push_back({"list_type", asParts, "Input should be a valid list", *content, {}});
    }

    static bool partsFit(const Json &content)
    {
        if (!content.is_array())
            return false;
        for (const Json &part : content) {
            if (!part.is_string() && !part.is_object())
                return false;
        }
        return true;
    }

    const Json &m_message;
    std::vector<LocationPart> m_place;
};

/// Joins text parts as vLLM does for templates that take plain strings.
ApiResult<std::string> joinParts(const Json &parts, const std::string &modelName)
{
    std::string text;
    bool first = true;
    for (const Json &part : parts) {
        std::string piece;
        const std::string type = part.is_object() && part.contains("type") && part.at("type").is_string()
            ? part.at("type").get<std::string>()
            : "";
        if (part.is_string()) {
            piece = part.get<std::string>();
        } else if (type == "text" || type == "input_text" || type == "output_text" || type == "refusal"
                   || type == "thinking" || (type.empty() && part.contains("text"))) {
            const auto found = part.find(type == "refusal"        ? "refusal"
                                             : type == "thinking" ? "thinking"
                                                                  : "text");
            if (found == part.end() || !found->is_string())
                return tl::unexpected(badRequest("Missing 'text' in a content part of type '" + type + "'."));
            piece = found->get<std::string>();
        } else if (type.find("image") != std::string::npos || type.find("audio") != std::string::npos
                   || type.find("video") != std::string::npos || part.contains("image_url")
                   || part.contains("audio_url") || part.contains("video_url")) {
            return tl::unexpected(badRequest(modelName + " is not a multimodal model"));
        } else {
            return tl::unexpected(badRequest("Unknown part type: " + type));
        }
        text += (first ? "" : "\n") + piece;
        first = false;
    }
    return text;
}

std::optional<ApiError> normalise(Json &message, const std::string &modelName)
{
    const auto content = message.find("content");
    if (content == message.end() || content->is_null()) {
        message["content"] = "";
    } else if (content->is_array()) {
        auto text = joinParts(*content, modelName);
        if (!text)
            return text.error();
        message["content"] = *text;
    }
    if (const auto reasoning = message.find("reasoning");
        reasoning != message.end() && reasoning->is_string() && !message.contains("reasoning_content")) {
        message["reasoning_content"] = *reasoning;
        message.erase("reasoning");
    }
    if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_null())
        message.erase("tool_calls");
    return std::nullopt;
}

} // namespace

ApiResult<Json> readMessages(FieldReader &reader, const Dialect &dialect, const std::string &modelName)
{
    const auto given = reader.body().find("messages");
    if (given == reader.body().end()) {
        reader.missing("messages");
        return Json::array();
    }
    if (!given->is_array()) {
        reader.add({"list_type", reader.at("messages"), "Input should be a valid list", *given, {}});
        return Json::array();
    }
    for (std::size_t i = 0; i < given->size(); ++i) {
        auto place = reader.at("messages");
        place.push_back({std::to_string(i), true, false});
        std::vector<FieldIssue> issues = MessageChecker((*given)[i], place).check();
        if (issues.empty())
            continue;
        if (!dialect.isOld()) {
            place.push_back({"Message", false, false});
            place.push_back({"author", false, false});
            issues.push_back({"missing", place, "Field required", (*given)[i], {}});
        }
        return tl::unexpected(validationError(dialect, issues, dialect.isOld() ? 0 : kHiddenNewIssues));
    }
    Json messages = *given;
    for (Json &message : messages) {
        if (auto problem = normalise(message, modelName))
            return tl::unexpected(std::move(*problem));
    }
    return messages;
}

} // namespace engine
