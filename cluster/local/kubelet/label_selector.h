#pragma once

#include "cluster/base/result.h"
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// A label selector as the API's `labelSelector=` has it: `a=b,c!=d,e in (x,y),f notin (z),g,!h`. All of its
/// requirements have to hold.
class LabelSelector
{
public:
    /// Empty text: everything is selected. InvalidArgument: no selector.
    [[nodiscard]] static Result<LabelSelector> parse(std::string_view text);

    /// \param labels  An object of strings, or null for none.
    [[nodiscard]] bool selects(const nlohmann::json &labels) const;

private:
    enum class Operator { In, NotIn, Exists, DoesNotExist };
    struct Requirement
    {
        std::string key;
        Operator op = Operator::Exists;
        std::set<std::string> values;
    };

    std::vector<Requirement> m_requirements;

    friend class LabelSelectorParser;
};

} // namespace cluster::local
