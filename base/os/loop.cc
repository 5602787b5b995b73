#include "base/os/loop.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace rm {

bool sleep_for(Seconds span, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, std::chrono::duration<double>(span.value), [] { return false; });
    return !stop.stop_requested();
}

Loop::Loop(Body body, Seconds first, std::function<void()> at_end)
    : body_(std::move(body)),
      at_end_(std::move(at_end)),
      thread_([this, first](const std::stop_token& stop) { run(first, stop); }) {}

void Loop::wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    woke_.notify_one();
}

void Loop::stop() {
    thread_.request_stop();
    std::call_once(joined_, [this] { thread_.join(); });
}

void Loop::run(Seconds first, const std::stop_token& stop) {
    std::optional<Seconds> pause = first;
    while (pause && sleep(*pause, stop))
        pause = body_(stop);
    if (at_end_) at_end_();
}

bool Loop::sleep(Seconds span, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto is_woken = [this] { return woken_; };
    if (std::isinf(span.value)) {
        woke_.wait(lock, stop, is_woken);
    } else {
        woke_.wait_for(lock, stop, std::chrono::duration<double>(span.value), is_woken);
    }
    woken_ = false;
    return !stop.stop_requested();
}

}  // namespace rm
