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
      loop_([this](auto& stop) { return work(stop); }, Loop::kUntilWoken) {}

ControlLoop::~ControlLoop() {
    {
        const std::lock_guard lock(queue_mutex_);
        closed_ = true;
    }
    loop_.stop();
    refuse_queued();
}

void ControlLoop::post(InputBody body, OnAnswer on_answer) {
    {
        const std::lock_guard lock(queue_mutex_);
        if (!closed_) {
            queue_.push_back({std::move(body), std::move(on_answer)});
            return loop_.wake();
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

void ControlLoop::prove_life(std::function<void()> alive) {
    const std::lock_guard lock(queue_mutex_);
    proofs_.push_back(std::move(alive));
    loop_.wake();
}

std::vector<std::function<void()>> ControlLoop::take_proofs() {
    const std::lock_guard lock(queue_mutex_);
    return std::exchange(proofs_, {});
}

std::vector<ControlLoop::Queued> ControlLoop::take_batch() {
    const std::lock_guard lock(queue_mutex_);
    if (closed_) return {};
    return std::exchange(queue_, {});
}

std::optional<Seconds> ControlLoop::work(const std::stop_token& stop) {
    const auto proofs = take_proofs();  // first, so that the batch holds all that came before them
    const std::optional<Seconds> next = work_off(take_batch(), stop);
    if (!next) return next;
    for (const auto& alive : proofs)
        alive();
    return next;
}

std::optional<Seconds> ControlLoop::work_off(std::vector<Queued> batch,
                                             const std::stop_token& stop) {
    const auto fatal = [this](const Error& error) {
        parts_.on_fatal(error.message);
        return Loop::kEnd;
    };
    if (batch.empty()) return Loop::kUntilWoken;
    const Result<bool> turn = take_turn(stop);
    if (!turn) return fatal(turn.error());
    if (!*turn) return Loop::kEnd;
    Result<std::vector<Outcome>> outcomes = Error{ErrorCode::internal, "not applied"};
    try {
        outcomes = commit_batch(batch);
    } catch (const std::exception& broken) {
        outcomes = Error{ErrorCode::internal, broken.what()};
    }
    if (!outcomes) return fatal(outcomes.error());
    release(batch, *outcomes);
    return Loop::kUntilWoken;
}

// Called before anything is applied, so that readers can continue meanwhile.
Result<bool> ControlLoop::take_turn(const std::stop_token& stop) {
    while (true) {
        const Status turn = parts_.store.take_turn();
        if (turn) return true;
        if (turn.error().code != ErrorCode::unavailable) return turn.error();
        parts_.listener.waits(turn.error().message);
        if (stop.stop_requested()) return false;
    }
}

Result<std::vector<Outcome>> ControlLoop::commit_batch(std::vector<Queued>& batch) {
    // Readers wait for the commit too: they see only durable state.
    const std::unique_lock lock(state_mutex_);
    std::vector<Outcome> outcomes;
    Changes changes;
    std::vector<AuditEvent> events;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        Outcome outcome = apply(state_, {.time = parts_.clock.wall(),
                                         .token = i + 1,
                                         .body = std::move(batch[i].body),
                                         .steady = steady_.now()});
        changes.merge(outcome.changes);
        events.insert(events.end(), outcome.events.begin(), outcome.events.end());
        outcomes.push_back(std::move(outcome));
    }
    if (events.empty()) {
        parts_.store.leave_turn();
    } else {
        RM_RETURN_IF_ERROR(parts_.store.commit(state_, changes, events));
    }
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
