#pragma once

#include "cluster/base/result.h"
#include <coroutine>
#include <exception>
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

/// A part of a ReplyTask that itself waits for replies: `T value = co_await part(…)`. It begins when it is
/// waited for. If it is destroyed before its end (its reply was thrown away), so is the coroutine that waits
/// for it. An exception goes on to that one.
template<typename T>
class [[nodiscard]] ReplyPart
{
public:
    struct promise_type
    {
        ReplyPart get_return_object() { return ReplyPart(Handle::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept { return Resume{}; }
        void return_value(T value) { part->m_value.emplace(std::move(value)); }
        void unhandled_exception() noexcept { part->m_exception = std::current_exception(); }
        ~promise_type()
        {
            if (waiting)
                std::exchange(waiting, {}).destroy();
        }

        ReplyPart *part = nullptr;
        std::coroutine_handle<> waiting;
    };

    ReplyPart(const ReplyPart &) = delete;
    ReplyPart &operator=(const ReplyPart &) = delete;
    ~ReplyPart()
    {
        if (m_unstarted)
            m_unstarted.destroy();
    }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept
    {
        const Handle own = std::exchange(m_unstarted, {}); // from here on it destroys itself
        own.promise().part = this;
        own.promise().waiting = waiting;
        return own;
    }
    T await_resume()
    {
        if (m_exception)
            std::rethrow_exception(m_exception);
        return std::move(*m_value);
    }

private:
    using Handle = std::coroutine_handle<promise_type>;
    struct Resume
    {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(Handle own) const noexcept
        {
            const auto waiting = std::exchange(own.promise().waiting, {});
            own.destroy();
            return waiting;
        }
        void await_resume() const noexcept {}
    };

    explicit ReplyPart(Handle handle) : m_unstarted(handle) {}

    Handle m_unstarted;
    std::optional<T> m_value;
    std::exception_ptr m_exception;
};

} // namespace engine
