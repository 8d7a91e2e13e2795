#pragma once

#include "cluster/observe/serving_metrics.h"
#include <span>
#include <string>
#include <string_view>

namespace cluster::detail {

/// One name that carries a field in some product and version.
struct NameCandidate
{
    ServingField field;
    ServingProduct product;
    std::string_view name; ///< As the product itself writes it; Ray's form is derived.
    std::string_view renamed; ///< Remark for a person, or empty.
};

/// In order of preference within a field.
[[nodiscard]] std::span<const NameCandidate> nameCandidates();

/// What all spellings of a name have in common: ':' as '_', without Ray's prefix and the counter suffix.
[[nodiscard]] std::string canonicalName(std::string_view name);

} // namespace cluster::detail
