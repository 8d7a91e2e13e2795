#pragma once

#include "cluster/base/result.h"
#include "cluster/openai/requests.h"

#include <string>
#include <string_view>

namespace cluster {

/// The JSON body that is sent; `indent` < 0 gives one line.
/// Errors: InvalidArgument where one of the ...Json texts is not JSON of the right kind.
Result<std::string> bodyText(const ChatRequest &request, int indent = -1);
Result<std::string> bodyText(const CompletionRequest &request, int indent = -1);
Result<std::string> bodyText(const EmbeddingsRequest &request, int indent = -1);

/// `baseUrl` + `path` ("/chat/completions"), with /v1 put between where the base does not end in it.
std::string openAiUrl(std::string_view baseUrl, std::string_view path);

// The same request for a shell and for the official Python client. With `hasApiKey` they read the key from
// the environment variable OPENAI_API_KEY; the key itself is not even a parameter.

Result<std::string> asCurl(const std::string &baseUrl, bool hasApiKey, const ChatRequest &request);
Result<std::string> asCurl(const std::string &baseUrl, bool hasApiKey, const CompletionRequest &request);
Result<std::string> asPython(const std::string &baseUrl, bool hasApiKey, const ChatRequest &request);
Result<std::string> asPython(const std::string &baseUrl, bool hasApiKey, const CompletionRequest &request);

} // namespace cluster
