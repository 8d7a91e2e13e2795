#pragma once

#include "engine/serving/error_response.h"
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace engine {

/// One step of the place of a wrong value. Branches of a union are shown by the old dialect only.
struct LocationPart
{
    std::string text;
    bool isIndex = false;
    bool isBranch = false;
};

/// One wrong value, as pydantic describes it.
struct FieldIssue
{
    std::string type;
    std::vector<LocationPart> location; ///< After `body`.
    std::string message;
    nlohmann::ordered_json input;
    std::string context; ///< Python text of the dict `ctx`, or empty.
};

/// Turns issues into the error answer of the dialect. extraCount issues are counted but not shown.
[[nodiscard]] ApiError validationError(const Dialect &dialect, const std::vector<FieldIssue> &issues,
                                       int extraCount = 0);

/// A rule over several fields was broken. Old: a pydantic value_error with the whole input; new: the plain
/// words.
[[nodiscard]] ApiError ruleError(const Dialect &dialect, const nlohmann::ordered_json &body,
                                 const std::string &message, const std::string &param = {});

/// Reads the fields of a JSON object with pydantic's lax conversions, and collects what is wrong.
/// null is the same as absent for optional fields.
class FieldReader
{
public:
    FieldReader(const nlohmann::ordered_json &object, std::vector<LocationPart> prefix = {});

    std::optional<std::int64_t> integer(const char *name,
                                        std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                        std::int64_t most = std::numeric_limits<std::int64_t>::max());
    std::optional<double> number(const char *name);
    std::optional<bool> boolean(const char *name);
    std::optional<std::string> string(const char *name);
    std::optional<std::vector<std::string>> stringOrList(const char *name, std::size_t mostItems);
    std::optional<std::vector<std::string>> stringList(const char *name);
    std::optional<std::vector<std::int64_t>> integerList(const char *name);
    const nlohmann::ordered_json *object(const char *name); ///< Null if absent or wrong.
    const nlohmann::ordered_json *array(const char *name);
    const nlohmann::ordered_json *find(const char *name) const; ///< Null if absent or JSON null.
    [[nodiscard]] bool has(const char *name) const; ///< Also with JSON null.
    void missing(const char *name);
    void add(FieldIssue issue);

    [[nodiscard]] std::vector<LocationPart> at(const std::string &name) const;
    [[nodiscard]] const nlohmann::ordered_json &body() const { return m_object; }
    [[nodiscard]] const std::vector<FieldIssue> &issues() const { return m_issues; }

    /// One value as an integer; on failure the type and message of the issue.
    static std::optional<std::int64_t> toInteger(const nlohmann::ordered_json &value, FieldIssue &issue);
    static std::optional<double> toNumber(const nlohmann::ordered_json &value,
                                          FieldIssue &issue); ///< Likewise.

private:
    const nlohmann::ordered_json &m_object;
    std::vector<LocationPart> m_prefix;
    std::vector<FieldIssue> m_issues;
};

/// The body as an object, or the answer for what is wrong with the content type, the JSON or its kind.
[[nodiscard]] ApiResult<nlohmann::ordered_json> readJsonBody(const Dialect &dialect,
                                                             const HttpRequest &request);

} // namespace engine
