#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "spec/session.h"

// The two ends of a session in memory. cancel() on either ends both.
namespace rm::test {

class MemoryPipe {
public:
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    std::deque<WorkerMessage> up;
    std::deque<ControllerMessage> down;
};

template <typename In, typename Out>
class MemoryStream final : public MessageStream<In, Out> {
public:
    MemoryStream(MemoryPipe& pipe, std::deque<In>& in, std::deque<Out>& out)
        : pipe_(pipe), in_(in), out_(out) {}

    bool read(In& message) override {
        std::unique_lock lock(pipe_.mutex);
        pipe_.changed.wait(lock, [&] { return pipe_.ended || !in_.empty(); });
        if (in_.empty()) return false;
        message = std::move(in_.front());
        in_.pop_front();
        return true;
    }
    bool write(const Out& message) override {
        const std::lock_guard lock(pipe_.mutex);
        if (pipe_.ended) return false;
        out_.push_back(message);
        pipe_.changed.notify_all();
        return true;
    }
    void cancel() override {
        const std::lock_guard lock(pipe_.mutex);
        pipe_.ended = true;
        pipe_.changed.notify_all();
    }

private:
    MemoryPipe& pipe_;
    std::deque<In>& in_;
    std::deque<Out>& out_;
};

using ControllerEnd = MemoryStream<WorkerMessage, ControllerMessage>;
using WorkerEnd = MemoryStream<ControllerMessage, WorkerMessage>;

}  // namespace rm::test
