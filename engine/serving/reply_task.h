#pragma once

#include "cluster/base/result.h"
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace engine {

/// A coroutine that answers one request: starts at once, nobody waits for it. An exception ends it; the
/// exchange it held is then abandoned and the client gets a 500.
struct ReplyTask
{
    struct promise_type
    {
        ReplyTask get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() noexcept {}
    };
};

/// `Result<T> r = co_await BackendReply<T>(call)`: call gets the callback that brings the reply. If the
/// callback is thrown away unused, the coroutine ends there and its locals are destroyed.
template<typename T>
class BackendReply
{
public:
    using Callback = std::function<void(cluster::Result<T>)>;

    explicit BackendReply(std::function<void(Callback)> call) : m_call(std::move(call)) {}

    bool await_ready() const noexcept { return false; }

    void await_suspend(std::coroutine_handle<> coroutine)
    {
        auto call = std::move(m_call);
        call([pending = std::make_shared<Pending>(this, coroutine)](cluster::Result<T> value) {
            const auto waiting = std::exchange(pending->coroutine, {});
            if (!waiting)
                return;
            pending->reply->m_value.emplace(std::move(value));
            waiting.resume();
        });
    }

    cluster::Result<T> await_resume() { return std::move(*m_value); }

private:
    struct Pending
    {
        Pending(BackendReply *waitingReply, std::coroutine_handle<> waitingCoroutine)
            : reply(waitingReply), coroutine(waitingCoroutine)
        {
        }
        Pending(const Pending &) = delete;
        Pending &operator=(const Pending &) = delete;
        ~Pending()
        {
            if (coroutine)
                coroutine.destroy();
        }
        BackendReply *reply;
        std::coroutine_handle<> coroutine;
    };

    std::function<void(Callback)> m_call;
    std::optional<cluster::Result<T>> m_value;
};

} // namespace engine
