#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/language_model.h"

namespace engine {

/// Turns chats into prompts with llama.cpp's Jinja templates. One thread at a time.
///
/// Errors: FailedPrecondition if neither model, options nor request have a template; InvalidArgument for
/// messages, tools
///         or a template that can't be used, with the template engine's own words.
class ChatTemplate
{
public:
    /// Reads the template in force (facts().chatTemplate); a model without one makes an object that refuses
    /// chats.
    static cluster::Result<std::unique_ptr<ChatTemplate>> create(const LanguageModel &model);
    ~ChatTemplate();
    ChatTemplate(const ChatTemplate &) = delete;
    ChatTemplate &operator=(const ChatTemplate &) = delete;

    [[nodiscard]] cluster::Result<Prompt> render(const ChatPromptRequest &request) const;

private:
    struct Parsed;
    ChatTemplate();
    static cluster::Result<std::unique_ptr<Parsed>> parse(const LanguageModel &model,
                                                          const std::string &source);

    const LanguageModel *m_model = nullptr;
    std::unique_ptr<Parsed> m_parsed; // null: none
};

} // namespace engine
