#pragma once

#include "cluster/openai/requests.h"
#include "models/chat/conversation.h"
#include <variant>

namespace models {

/// One exchange with the server, ready to be sent or shown as text.
using GenerationCall = std::variant<cluster::ChatRequest, cluster::CompletionRequest>;

/// The request that answers the last message of `conversation.path`. Failed answers and empty ones are left
/// out. With `asCompletion` the texts of the path, one after the other, are the prompt: a base model goes on
/// with them.
GenerationCall requestFor(const Conversation &conversation, bool asCompletion);

/// The JSON body, indented; empty if it can't be made.
QString bodyText(const GenerationCall &call);
/// For a shell and for the official Python client; the key is the variable OPENAI_API_KEY there.
QString curlText(const QString &baseUrl, bool hasApiKey, const GenerationCall &call);
QString pythonText(const QString &baseUrl, bool hasApiKey, const GenerationCall &call);

} // namespace models
