#pragma once

#include "cluster/base/result.h"
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

enum class SelectorOperator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan, ///< of whole numbers
    LessThan,
};

struct SelectorRequirement
{
    std::string key;
    SelectorOperator op = SelectorOperator::Exists;
    std::set<std::string> values; ///< one, but for In and NotIn; none for the last two above them
};

/// \param labels  An object of strings, or null for none.
[[nodiscard]] bool isMet(const SelectorRequirement &requirement, const nlohmann::json &labels);

/// A label selector as the API's `labelSelector=` has it: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1`. All of
/// its requirements have to hold.
class LabelSelector
{
public:
    /// Empty text: everything is selected. InvalidArgument: no selector.
    [[nodiscard]] static Result<LabelSelector> parse(std::string_view text);

    /// \param labels  As of isMet().
    [[nodiscard]] bool selects(const nlohmann::json &labels) const;

    [[nodiscard]] const std::vector<SelectorRequirement> &requirements() const { return m_requirements; }

private:
    std::vector<SelectorRequirement> m_requirements;

    friend class LabelSelectorParser;
};

} // namespace cluster::local
