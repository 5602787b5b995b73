#include "controller/loops/control_loop.h"

#include <exception>
#include <future>

#include "controller/core/apply.h"

namespace rm {
namespace {

Error shutting_down() {
    return {ErrorCode::unavailable, "the controller is shutting down"};
}

}  // namespace

ControlLoop::ControlLoop(State state, Parts parts)
    : parts_(std::move(parts)),
      steady_(parts_.clock),
      state_(std::move(state)),
      thread_([this] { run(); }) {}

ControlLoop::~ControlLoop() {
    {
        const std::lock_guard lock(queue_mutex_);
        stopping_ = true;
        queued_.notify_one();
    }
    thread_.join();
    refuse_queued();
}

void ControlLoop::post(InputBody body, OnAnswer on_answer) {
    {
        const std::lock_guard lock(queue_mutex_);
        if (!stopping_) {
            queue_.push_back({std::move(body), std::move(on_answer)});
            queued_.notify_one();
            return;
        }
    }
    if (on_answer) on_answer(shutting_down());
}

Result<JobId> ControlLoop::call(InputBody body) {
    std::promise<Result<JobId>> promise;
    auto answer = promise.get_future();
    post(std::move(body),
         [&promise](Result<JobId> result) { promise.set_value(std::move(result)); });
    return answer.get();
}

std::vector<ControlLoop::Queued> ControlLoop::take_batch() {
    std::unique_lock lock(queue_mutex_);
    queued_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return {};
    return std::exchange(queue_, {});
}

void ControlLoop::run() {
    while (true) {
        std::vector<Queued> batch = take_batch();
        if (batch.empty()) return;
        const Result<bool> free = wait_for_turn();
        if (!free) return parts_.on_fatal(free.error().message);
        if (!*free) return;
        Result<std::vector<Outcome>> outcomes = Error{ErrorCode::internal, "not applied"};
        try {
            outcomes = commit_batch(batch);
        } catch (const std::exception& broken) {
            outcomes = Error{ErrorCode::internal, broken.what()};
        }
        if (!outcomes) return parts_.on_fatal(outcomes.error().message);
        release(batch, *outcomes);
    }
}

// Before anything is applied, so that readers go on meanwhile.
Result<bool> ControlLoop::wait_for_turn() {
    while (true) {
        const Status turn = parts_.store.wait_for_turn();
        if (turn) return true;
        if (turn.error().code != ErrorCode::unavailable) return turn.error();
        parts_.listener.waits(turn.error().message);
        const std::lock_guard lock(queue_mutex_);
        if (stopping_) return false;
    }
}

Result<std::vector<Outcome>> ControlLoop::commit_batch(std::vector<Queued>& batch) {
    // Readers wait for the commit too: nobody sees what is not yet durable.
    const std::unique_lock lock(state_mutex_);
    std::vector<Outcome> outcomes;
    Changes changes;
    std::vector<Event> events;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        Outcome outcome = apply(state_, {.time = parts_.clock.wall(),
                                         .token = i + 1,
                                         .body = std::move(batch[i].body),
                                         .steady = steady_.now()});
        changes.merge(outcome.changes);
        events.insert(events.end(), outcome.events.begin(), outcome.events.end());
        outcomes.push_back(std::move(outcome));
    }
    if (!events.empty()) RM_RETURN_IF_ERROR(parts_.store.commit(state_, changes, events));
    return outcomes;
}

void ControlLoop::release(std::vector<Queued>& batch, std::vector<Outcome>& outcomes) {
    parts_.listener.committed(outcomes);
    for (Outcome& outcome : outcomes) {
        for (Effect& effect : outcome.effects) {
            if (auto* reply = std::get_if<Reply>(&effect)) {
                const OnAnswer& on_answer = batch[reply->token - 1].on_answer;
                if (on_answer) on_answer(std::move(reply->result));
            } else if (auto* send = std::get_if<SendToNode>(&effect)) {
                parts_.listener.send(send->node, std::move(send->command));
            } else {
                parts_.listener.request_plan();
            }
        }
    }
}

void ControlLoop::refuse_queued() {
    for (Queued& queued : queue_) {
        if (queued.on_answer) queued.on_answer(shutting_down());
    }
}

}  // namespace rm
