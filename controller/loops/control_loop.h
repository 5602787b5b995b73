#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/os/loop.h"
#include "controller/core/input.h"
#include "controller/core/outcome.h"
#include "controller/store/store.h"

namespace rm {

// The time that rules compare (Input::steady): the wall time at construction plus the monotonic
// time since, whatever happens to the wall clock.
class SteadyClock {
public:
    explicit SteadyClock(const Clock& clock)
        : clock_(clock), began_(clock.wall()), began_mono_(clock.mono()) {}

    WallTime now() const { return began_ + (clock_.mono() - began_mono_); }

private:
    const Clock& clock_;
    const WallTime began_;
    const MonoTime began_mono_;
};

// Receives the control loop's output once the events are durable. Called on the control thread.
class ControlListener {
public:
    virtual ~ControlListener() = default;
    virtual void send(const NodeId& node, NodeCommand command) = 0;
    virtual void request_plan() = 0;
    virtual void committed(const std::vector<Outcome>& outcomes) = 0;  // before their effects
    virtual void waits(const std::string& /*reason*/) {}  // another program holds the tables
};

// The one thread that owns the State: drains the queue, applies each input, commits the batch in
// one transaction and only then lets replies and effects out. The batch is whatever queued during
// the previous commit. A failed commit or a broken invariant calls `on_fatal`, which is meant to
// end the process; nothing is released or applied afterwards.
class ControlLoop final : public InputSink {
public:
    struct Parts {
        Store& store;
        const Clock& clock;
        ControlListener& listener;
        std::function<void(const std::string&)> on_fatal;
    };
    ControlLoop(State state, Parts parts);
    ~ControlLoop() override;  // answers queued inputs with UNAVAILABLE

    using InputSink::post;
    void post(InputBody body, OnAnswer on_answer) override;
    // Posts and waits for the answer. Not from the control thread.
    Result<JobId> call(InputBody body);

    // Calls `alive` on the control thread when all that is queued now has been applied. Never, if
    // the loop ends before.
    void prove_life(std::function<void()> alive);

    // The time that rules compare; see Input.
    WallTime steady_now() const { return steady_.now(); }

    // Calls f(const State&) on durable state; f must be quick and keep no reference.
    template <typename F>
    auto read(F&& f) const {
        const std::shared_lock lock(state_mutex_);
        return f(state_);
    }

private:
    struct Queued {
        InputBody body;
        OnAnswer on_answer;
    };

    std::optional<Seconds> work(const std::stop_token& stop);
    std::optional<Seconds> work_off(std::vector<Queued> batch, const std::stop_token& stop);
    std::vector<Queued> take_batch();
    std::vector<std::function<void()>> take_proofs();
    // False: this loop ends while another program holds the tables.
    Result<bool> take_turn(const std::stop_token& stop);
    // Applies and commits; returns the outcome of each input. An exception or error is fatal.
    Result<std::vector<Outcome>> commit_batch(std::vector<Queued>& batch);
    void release(std::vector<Queued>& batch, std::vector<Outcome>& outcomes);
    void refuse_queued();

    const Parts parts_;
    const SteadyClock steady_;
    mutable std::shared_mutex state_mutex_;
    State state_;

    std::mutex queue_mutex_;
    std::vector<Queued> queue_;
    std::vector<std::function<void()>> proofs_;
    bool closed_ = false;  // nothing is queued any more
    Loop loop_;
};

}  // namespace rm
