#include "engine/serving/structured_output.h"

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

using Wanted = std::optional<GrammarRequest>;

std::string schemaText(const Json &schema)
{
    return schema.is_string() ? schema.get<std::string>()
                              : schema.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ApiResult<Wanted> readResponseFormat(FieldReader &reader, const Dialect &dialect)
{
    const Json *format = reader.object("response_format");
    if (!format)
        return Wanted();
    const std::string type = format->contains("type") && format->at("type").is_string()
        ? format->at("type").get<std::string>()
        : "";
    if (type == "text")
        return Wanted();
    GrammarRequest grammar;
    if (type == "json_object") {
        grammar.anyJsonObject = true;
        return Wanted(grammar);
    }
    if (type == "structural_tag") {
        return tl::unexpected(
            badParameter(dialect, "structural_tag is not supported by this engine; use json_schema instead.",
                         "response_format"));
    }
    if (type != "json_schema") {
        auto place = reader.at("response_format");
        place.push_back({"ResponseFormat", false, false});
        place.push_back({"type", false, false});
        const std::string expected = "'text', 'json_object' or 'json_schema'";
        reader.add({"literal_error", place, "Input should be " + expected,
                    format->contains("type") ? format->at("type") : Json(),
                    "{'expected': \"" + expected + "\"}"});
        return Wanted();
    }
    const auto wrapper = format->find("json_schema");
    if (wrapper == format->end() || !wrapper->is_object()) {
        return tl::unexpected(
            ruleError(dialect, reader.body(),
                      "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
                      "response_format"));
    }
    const auto schema = wrapper->find("schema");
    if (schema == wrapper->end() || schema->is_null())
        grammar.anyJsonObject = true;
    else
        grammar.jsonSchema = schemaText(*schema);
    return Wanted(grammar);
}

/// Reads one group of fields (PREFIXjson, PREFIXregex, …); counts how many are set.
int readKinds(FieldReader &reader, const std::string &prefix, GrammarRequest &grammar)
{
    int count = 0;
    if (const Json *schema = reader.find((prefix + "json").c_str())) {
        grammar.jsonSchema = schemaText(*schema);
        ++count;
    }
    if (const auto regex = reader.string((prefix + "regex").c_str())) {
        grammar.regex = *regex;
        ++count;
    }
    if (const auto choices = reader.stringList((prefix + "choice").c_str())) {
        grammar.choices = *choices;
        ++count;
    }
    if (const auto text = reader.string((prefix + "grammar").c_str())) {
        grammar.gbnf = *text;
        ++count;
    }
    return count;
}

ApiResult<Wanted> readNewest(FieldReader &reader, const Dialect &dialect)
{
    const Json *given = reader.object("structured_outputs");
    if (!given)
        return Wanted();
    FieldReader nested(*given, reader.at("structured_outputs"));
    GrammarRequest grammar;
    int count = readKinds(nested, "", grammar);
    if (nested.boolean("json_object").value_or(false)) {
        grammar.anyJsonObject = true;
        ++count;
    }
    for (const FieldIssue &issue : nested.issues())
        reader.add(issue);
    if (nested.find("structural_tag")) {
        return tl::unexpected(
            badParameter(dialect, "structural_tag is not supported by this engine; use json instead.",
                         "structured_outputs"));
    }
    if (count > 1) {
        return tl::unexpected(ruleError(dialect, reader.body(),
                                        "You can only use one kind of constraints for structured outputs "
                                        "('json', 'regex' or 'choice').",
                                        "structured_outputs"));
    }
    return count == 1 ? Wanted(grammar) : Wanted();
}

ApiResult<Wanted> readOld(FieldReader &reader, const Dialect &dialect)
{
    GrammarRequest grammar;
    const int count = readKinds(reader, "guided_", grammar);
    if (count > 1) {
        return tl::unexpected(ruleError(dialect, reader.body(),
                                        "You can only use one kind of guided decoding ('guided_json', "
                                        "'guided_regex' or 'guided_choice')."));
    }
    return count == 1 ? Wanted(grammar) : Wanted();
}

} // namespace

ApiResult<Wanted> readStructuredOutput(FieldReader &reader, const Dialect &dialect)
{
    auto format = readResponseFormat(reader, dialect);
    if (!format || *format)
        return format;
    return dialect.isOld() ? readOld(reader, dialect) : readNewest(reader, dialect);
}

} // namespace engine
