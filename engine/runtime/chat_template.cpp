#include "engine/runtime/chat_template.h"

#include "chat.h" // llama.cpp's common

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

struct ChatTemplate::Parsed
{
    common_chat_templates_ptr templates;
};

namespace {

// The template engine recurses with each bracket and block: its thread's stack is enough for so much text.
constexpr std::size_t longestTemplate = std::size_t{128} << 10;

// A closing end-of-turn marker behind the last message would end the answer that is to be continued.
void cutAfterLastMessage(std::string &text, const common_chat_msg &last)
{
    std::string content = last.content;
    for (const common_chat_msg_content_part &part : last.content_parts)
        content += part.text;
    while (!content.empty() && std::isspace(static_cast<unsigned char>(content.back())) != 0)
        content.pop_back();
    const std::size_t at = content.empty() ? std::string::npos : text.rfind(content);
    if (at != std::string::npos)
        text.resize(at + content.size());
}

common_chat_templates_inputs inputsFrom(const ChatPromptRequest &request)
{
    common_chat_templates_inputs inputs;
    inputs.messages = common_chat_msgs_parse_oaicompat(common_json::parse(request.messagesJson));
    if (!request.toolsJson.empty())
        inputs.tools = common_chat_tools_parse_oaicompat(common_json::parse(request.toolsJson));
    if (!request.templateKwargsJson.empty()) {
        common_json kwargs = common_json::parse(request.templateKwargsJson);
        for (const auto &[key, value] : kwargs.items())
            inputs.chat_template_kwargs[key] = value.dump();
    }
    inputs.add_generation_prompt = request.addGenerationPrompt && !request.continueFinalMessage;
    inputs.use_jinja = true;
    inputs.force_pure_content
        = true; // the template as written; what the model answers is split by the server
    return inputs;
}

} // namespace

ChatTemplate::ChatTemplate() = default;
ChatTemplate::~ChatTemplate() = default;

cluster::Result<std::unique_ptr<ChatTemplate::Parsed>> ChatTemplate::parse(const LanguageModel &model,
                                                                           const std::string &source)
{
    try {
        // The second call loses the reason of a failure (it throws a bare std::exception), this one has it.
        const common_chat_template probe(source, "", "");
        auto parsed = std::make_unique<Parsed>();
        parsed->templates = common_chat_templates_init(model.handle(), source);
        return parsed;
    } catch (const std::exception &error) {
        return fail(ErrorCode::InvalidArgument,
                    std::string("the chat template can't be read: ") + error.what());
    }
}

cluster::Result<std::unique_ptr<ChatTemplate>> ChatTemplate::create(const LanguageModel &model)
{
    std::unique_ptr<ChatTemplate> made(new ChatTemplate);
    made->m_model = &model;
    if (model.facts().hasChatTemplate) {
        auto parsed = parse(model, model.facts().chatTemplate);
        if (!parsed)
            return tl::unexpected(parsed.error());
        made->m_parsed = std::move(*parsed);
    }
    return made;
}

cluster::Result<Prompt> ChatTemplate::render(const ChatPromptRequest &request) const
{
    std::unique_ptr<Parsed> own;
    if (request.chatTemplate.size() > longestTemplate)
        return fail(ErrorCode::InvalidArgument,
                    "the request's chat template has " + std::to_string(request.chatTemplate.size())
                        + " bytes; at most " + std::to_string(longestTemplate) + " are possible");
    if (!request.chatTemplate.empty()) {
        auto parsed = parse(*m_model, request.chatTemplate);
        if (!parsed)
            return tl::unexpected(parsed.error());
        own = std::move(*parsed);
    }
    const Parsed *const parsed = own ? own.get() : m_parsed.get();
    if (parsed == nullptr)
        return fail(ErrorCode::FailedPrecondition,
                    "this model has no chat template: it is a base model, for completions only. Use "
                    "/v1/completions, or "
                    "give a template with --chat-template");
    Prompt prompt;
    try {
        const common_chat_templates_inputs inputs = inputsFrom(request);
        prompt.text = common_chat_templates_apply(parsed->templates.get(), inputs).prompt;
        if (request.continueFinalMessage && !inputs.messages.empty())
            cutAfterLastMessage(prompt.text, inputs.messages.back());
    } catch (const std::exception &error) {
        return fail(ErrorCode::InvalidArgument,
                    std::string("the chat can't be turned into a prompt: ") + error.what());
    }
    // The template's own BOS has been taken off where the tokenizer adds one.
    const bool addSpecial = request.addSpecialTokens || m_model->facts().addsBos;
    prompt.tokens = m_model->vocabulary().tokenize(prompt.text, addSpecial, true);
    return prompt;
}

} // namespace engine
