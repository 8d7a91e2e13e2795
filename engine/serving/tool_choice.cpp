#include "engine/serving/tool_choice.h"

#include "engine/serving/python_text.h"

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

std::string dumped(const Json &value)
{
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string toolName(const Json &tool)
{
    const auto function = tool.find("function");
    if (function == tool.end() || !function->is_object())
        return {};
    const auto name = function->find("name");
    return name != function->end() && name->is_string() ? name->get<std::string>() : std::string();
}

/// The schema of the tool's arguments; its definitions are moved to the top, where references look for them.
Json argumentSchema(const Json &tool, Json &definitions)
{
    const Json &function = tool.at("function");
    const auto given = function.find("parameters");
    Json schema = given != function.end() && given->is_object() ? *given : Json{{"type", "object"}};
    for (const char *key : {"$defs", "definitions"}) {
        if (const auto found = schema.find(key); found != schema.end() && found->is_object()) {
            definitions[key].update(*found);
            schema.erase(key);
        }
    }
    return schema;
}

Json callSchema(const Json &tool, const char *argumentsKey, Json &definitions)
{
    Json properties;
    properties["name"] = Json{{"const", toolName(tool)}};
    properties[argumentsKey] = argumentSchema(tool, definitions);
    Json schema{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    schema["required"] = Json::array({"name", argumentsKey});
    return schema;
}

GrammarRequest toGrammar(Json schema, const Json &definitions)
{
    for (const auto &[key, value] : definitions.items())
        schema[key] = value;
    GrammarRequest grammar;
    grammar.jsonSchema = dumped(schema);
    return grammar;
}

GrammarRequest forcedCall(const Json &tools, const ToolPlan &plan, const Dialect &dialect)
{
    Json definitions = Json::object();
    Json options = Json::array();
    for (const Json &tool : tools) {
        if (plan.mode == ToolPlan::Mode::Named && toolName(tool) != plan.name)
            continue;
        if (plan.mode == ToolPlan::Mode::Named && dialect.isOld())
            return toGrammar(argumentSchema(tool, definitions), definitions);
        options.push_back(callSchema(tool, dialect.isOld() ? "parameters" : "arguments", definitions));
    }
    const Json one = options.size() == 1 ? options.front() : Json{{"anyOf", options}};
    if (!dialect.isOld())
        return toGrammar(one, definitions);
    return toGrammar(Json{{"type", "array"}, {"minItems", 1}, {"items", one}}, definitions);
}

void checkTools(FieldReader &reader, const Json &tools)
{
    for (std::size_t i = 0; i < tools.size(); ++i) {
        auto place = reader.at("tools");
        place.push_back({std::to_string(i), true, false});
        if (!tools[i].is_object()) {
            reader.add({"model_attributes_type",
                        place,
                        "Input should be a valid dictionary or object to extract fields from",
                        tools[i],
                        {}});
        } else if (toolName(tools[i]).empty()) {
            place.push_back({"function", false, false});
            if (tools[i].contains("function") && tools[i].at("function").is_object())
                place.push_back({"name", false, false});
            reader.add({"missing", place, "Field required", tools[i], {}});
        }
    }
}

ApiResult<ToolPlan> readChoice(FieldReader &reader, const Json *tools, const Dialect &dialect)
{
    const auto refuse = [&](const std::string &message) {
        return tl::unexpected(ruleError(dialect, reader.body(), message, "tool_choice"));
    };
    ToolPlan plan;
    const Json *choice = reader.find("tool_choice");
    const bool haveTools = tools && !tools->empty();
    if (!choice) {
        plan.mode = haveTools ? ToolPlan::Mode::Auto : ToolPlan::Mode::None;
        return plan;
    }
    if (*choice == "none")
        return plan;
    if (!tools)
        return refuse("When using `tool_choice`, `tools` must be set.");
    if (choice->is_object()) {
        plan.mode = ToolPlan::Mode::Named;
        plan.name = toolName(*choice);
        if (plan.name.empty()) {
            return refuse("Expected field `name` in `function` in `tool_choice`. Correct usage: "
                          "`{\"type\": \"function\", \"function\": {\"name\": \"my_function\"}}`");
        }
        for (const Json &tool : *tools) {
            if (tool.is_object() && toolName(tool) == plan.name)
                return plan;
        }
        return refuse("The tool specified in `tool_choice` does not match any of the specified `tools`");
    }
    if (*choice == "auto" || *choice == "required") {
        if (haveTools)
            plan.mode = *choice == "auto" ? ToolPlan::Mode::Auto : ToolPlan::Mode::Required;
        return plan;
    }
    return refuse("Invalid value for `tool_choice`: " + pythonRepr(*choice)
                  + "! Only named tools, \"none\", \"auto\" or \"required\" are supported.");
}

} // namespace

ApiResult<ToolPlan> readToolPlan(FieldReader &reader, const ServerOptions &options, const Dialect &dialect)
{
    const Json *tools = reader.array("tools");
    const bool wrongKind = reader.find("tools") && !tools;
    if (tools && tools->empty() && !dialect.isOld()) {
        return tl::unexpected(ruleError(dialect, reader.body(),
                                        "`tools` must not be an empty array. Either provide at least one "
                                        "tool or omit the field entirely.",
                                        "tools"));
    }
    if (tools)
        checkTools(reader, *tools);
    if (wrongKind || !reader.issues().empty())
        return ToolPlan{}; // the caller reports the issues
    auto plan = readChoice(reader, tools, dialect);
    if (!plan)
        return plan;
    plan->parallel = reader.boolean("parallel_tool_calls").value_or(true) || dialect.isOld();
    if (tools && !tools->empty())
        plan->toolsJson = dumped(*tools);
    const bool haveParser = !options.toolCallParser.empty();
    if (plan->mode == ToolPlan::Mode::Auto && !(options.enableAutoToolChoice && haveParser)) {
        return tl::unexpected(badRequest(
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"));
    }
    const bool forced = plan->mode == ToolPlan::Mode::Required || plan->mode == ToolPlan::Mode::Named;
    if (forced && !haveParser && !dialect.isOld()) {
        const std::string kind = plan->mode == ToolPlan::Mode::Required ? "required" : plan->name;
        return tl::unexpected(
            badRequest("tool_choice=\"" + kind + "\" requires --tool-call-parser to be set"));
    }
    if (forced) {
        plan->grammar = forcedCall(*tools, *plan, dialect);
        plan->wrapped = !dialect.isOld();
    }
    return plan;
}

std::string wrapCallGrammar(const std::string &callGrammar, bool several)
{
    // Renames the rule `root`, outside of literals and character classes.
    std::string renamed;
    char inside = 0;
    for (std::size_t i = 0; i < callGrammar.size();) {
        const char c = callGrammar[i];
        if (inside) {
            if (c == '\\' && i + 1 < callGrammar.size())
                renamed += callGrammar[i++];
            else if (c == inside)
                inside = 0;
            renamed += callGrammar[i++];
            continue;
        }
        if (c == '"' || c == '[') {
            inside = c == '"' ? '"' : ']';
            renamed += c;
            ++i;
            continue;
        }
        std::size_t end = i;
        while (end < callGrammar.size()
               && (std::isalnum(static_cast<unsigned char>(callGrammar[end])) || callGrammar[end] == '-'
                   || callGrammar[end] == '_'))
            ++end;
        const std::string word = callGrammar.substr(i, end - i);
        if (word.empty()) {
            renamed += c;
            ++i;
        } else {
            renamed += word == "root" ? "tool-call-object" : word;
            i = end;
        }
    }
    std::string root = "root ::= tool-call-block";
    if (several)
        root += " (\"\\n\" tool-call-block)*";
    return root + "\ntool-call-block ::= \"<tool_call>\\n\" tool-call-object \"\\n</tool_call>\"\n" + renamed;
}

} // namespace engine
