#include "engine/runtime/grammar_compiler.h"

#include "engine/runtime/llama_grammar.h"
#include "engine/runtime/regex_grammar.h"
#include "json-schema-to-grammar.h" // llama.cpp's common

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

// The parsers recurse with each bracket: their thread's stack is enough for so much text.
constexpr std::size_t longestGrammar = std::size_t{128} << 10;
constexpr std::size_t longestSchema = std::size_t{1} << 20; ///< Of bounded depth, as all JSON from the front.

cluster::Result<std::string> fromSchema(const std::string &schema)
{
    try {
        return json_schema_to_grammar(common_json::parse(schema), true);
    } catch (const std::exception &error) {
        return fail(ErrorCode::InvalidArgument,
                    std::string("the JSON schema can't be used: ") + error.what());
    }
}

std::string fromChoices(const std::vector<std::string> &choices)
{
    std::string grammar = "root ::= ";
    for (std::size_t i = 0; i < choices.size(); ++i)
        grammar += (i > 0 ? " | " : "") + grammarLiteral(choices[i]);
    return grammar + "\n";
}

} // namespace

cluster::Result<std::string> compileGrammar(const GrammarRequest &request, const TokenVocabulary &vocabulary)
{
    const int given = static_cast<int>(!request.jsonSchema.empty()) + static_cast<int>(!request.gbnf.empty())
        + static_cast<int>(!request.regex.empty()) + static_cast<int>(!request.choices.empty())
        + static_cast<int>(request.anyJsonObject);
    if (given != 1)
        return fail(ErrorCode::InvalidArgument, "exactly one constraint is needed for a structured output");
    const std::size_t longest = request.jsonSchema.empty() ? longestGrammar : longestSchema;
    const std::size_t length = request.jsonSchema.size() + request.gbnf.size() + request.regex.size();
    if (length > longest)
        return fail(ErrorCode::InvalidArgument,
                    "the constraint has " + std::to_string(length) + " bytes; at most "
                        + std::to_string(longest) + " are possible");
    cluster::Result<std::string> grammar;
    if (!request.jsonSchema.empty())
        grammar = fromSchema(request.jsonSchema);
    else if (!request.regex.empty())
        grammar = regexToGrammar(request.regex);
    else if (!request.choices.empty())
        grammar = fromChoices(request.choices);
    else
        grammar = request.anyJsonObject ? fromSchema(R"({"type":"object"})") : request.gbnf;
    if (!grammar)
        return grammar;
    if (auto parsed = parseGrammar(*grammar, vocabulary); !parsed)
        return tl::unexpected(parsed.error());
    return grammar;
}

} // namespace engine
