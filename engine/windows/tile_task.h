#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace rm {

// The work of one tile, a coroutine: it queues ops and pauses where it awaits an exchange with
// other ranks, so that its caller can queue another tile's ops, which hide the exchange
// (`TileLanes`). It starts at once. A task may await another: both pause together.
class TileTask {
public:
    struct promise_type {
        TileTask get_return_object() { return TileTask(Handle::from_promise(*this)); }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }

        TileTask* awaited = nullptr;
        std::exception_ptr error;
    };
    using Handle = std::coroutine_handle<promise_type>;

    TileTask(TileTask&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    TileTask& operator=(TileTask&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~TileTask() {
        if (handle_) handle_.destroy();
    }

    // Throws what the task threw.
    bool done() const {
        if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
        return handle_.done();
    }
    // Up to the next pause; not when it is done.
    void resume() {
        TileTask*& awaited = handle_.promise().awaited;
        if (awaited != nullptr) {
            awaited->resume();
            if (!awaited->done()) return;
            awaited = nullptr;
        }
        handle_.resume();
    }

    bool await_ready() const { return done(); }
    void await_suspend(Handle caller) { caller.promise().awaited = this; }
    void await_resume() const { done(); }

private:
    explicit TileTask(Handle handle) : handle_(handle) {}
    Handle handle_;
};

// A tile awaits it: when the tile goes on, `then` queues compute's wait for the exchange and
// returns its result. Nothing pauses where no message is under way.
template <typename Then>
class Arrival {
public:
    Arrival(bool under_way, Then then) : under_way_(under_way), then_(std::move(then)) {}
    bool await_ready() const { return !under_way_; }
    void await_suspend(std::coroutine_handle<> /*caller*/) const {}
    auto await_resume() { return then_(); }

private:
    bool under_way_;
    Then then_;
};

}  // namespace rm
