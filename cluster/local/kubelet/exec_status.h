#pragma once

#include <string>

namespace cluster::local {

struct ProcessEnd;

/// The metav1.Status that ends an exec on the error stream, from protocol v4 on: Success, or Failure with the
/// exit code in details.causes (kubectl exits with it), or InternalError where the process could not run.
[[nodiscard]] std::string execStatus(const ProcessEnd &end);
/// What older protocols say: the message of a failure; empty for a success.
[[nodiscard]] std::string execStatusText(const ProcessEnd &end);

} // namespace cluster::local
