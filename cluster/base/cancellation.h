#pragma once

#include <functional>
#include <stop_token>

namespace cluster {

// Cancellation is the standard library's: the source asks (`request_stop`, from any thread, any number of
// times), tokens are copied into the work, which polls `stop_requested` or has itself woken by a
// CancelCallback. A default-made token is never cancelled.

using CancelSource = std::stop_source;
using CancelToken = std::stop_token;

/// Runs its function on the thread that cancels, or at once in its own constructor if that has happened
/// already. Its destructor waits for a running function: what the function uses may die right after it.
using CancelCallback = std::stop_callback<std::function<void()>>;

} // namespace cluster
