#include "controller/core/apply.h"
#include "tests/sim/controller.h"

// ControlLoop's rule: the batch is whatever queued during the previous commit; nothing is released
// before its events are durable; a failed commit ends the process.
namespace rm::sim {
namespace {

// A status as the planted controller reads it: one exit frees every device.
AttemptStatus freed_early(AttemptStatus status) {
    for (const RankStatus& rank : status.ranks)
        status.processes_left = status.processes_left && !rank.exited;
    return status;
}

InputBody freed_early(InputBody body) {
    if (auto* status = std::get_if<NodeStatus>(&body)) {
        status->status = freed_early(std::move(status->status));
    } else if (auto* hello = std::get_if<NodeHello>(&body)) {
        for (AttemptStatus& status : hello->hello.attempts)
            status = freed_early(std::move(status));
    }
    return body;
}

}  // namespace

void SimController::take_batch() {
    batch_due_ = false;
    Batch batch;
    std::swap(batch.inputs, queue_);
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
        const bool plan = std::holds_alternative<PlanReady>(batch.inputs[i].body);
        Outcome outcome = apply_one(std::move(batch.inputs[i].body), i + 1);
        check(outcome, plan);
        batch.changes.merge(outcome.changes);
        batch.events.insert(batch.events.end(), outcome.events.begin(), outcome.events.end());
        batch.outcomes.push_back(std::move(outcome));
    }
    release_early(batch);
    if (batch.events.empty()) return release(batch);
    commit(std::move(batch));
}

Outcome SimController::apply_one(InputBody body, std::uint64_t token) {
    if (parts_.plant == Plant::device_freed_early) body = freed_early(std::move(body));
    note_word(body);
    const Epoch next = state_.next_epoch;
    const bool no_raise = parts_.plant == Plant::epoch_not_raised &&
                          !std::holds_alternative<PlanReady>(body) &&
                          !std::holds_alternative<FoundCluster>(body);
    Outcome outcome = apply(
        state_, {.time = wall(), .token = token, .body = std::move(body), .steady = steady()});
    if (no_raise && state_.next_epoch != next) {
        state_.next_epoch = next;
        outcome.changes.meta = true;
        outcome.events.push_back({wall(), "planted", kMetaSubject, {}});
        outcome.events.back().fields = difference({}, flatten_meta(state_));
    }
    return outcome;
}

void SimController::check(const Outcome& outcome, bool planned) {
    for (const auto& [epoch, heard] : state_.heard)
        spoken_.try_emplace(epoch, sim_.now());
    sim_.mix(state_.version ^ (static_cast<std::uint64_t>(state_.next_epoch.value) << 32));
    for (const AuditEvent& event : outcome.events) {
        fold(folded_, event);
        sim_.count(event.kind);
        sim_.say("  {} {} {}", event.kind, event.subject,
                 event.fields.size() < 8 ? to_json(event.fields) : std::string("..."));
        check_silence(event);
        if (!planned || event.kind != "attempt.created") continue;
        parts_.truth.created(state_.attempts.rbegin()->second);
    }
    check_invariants(state_);
    const auto same = [this](const std::string& subject, const FlatRow& row) {
        RM_CHECK(folded_[subject] == row, "folding the events of {} does not give its row",
                 subject);
    };
    if (outcome.changes.meta) same(kMetaSubject, flatten_meta(state_));
    for (const JobId& id : outcome.changes.jobs)
        same(subject_of(state_.jobs.at(id)), flatten(state_.jobs.at(id)));
    for (const Epoch epoch : outcome.changes.attempts)
        same(subject_of(state_.attempts.at(epoch)), flatten(state_.attempts.at(epoch)));
    for (const NodeId& id : outcome.changes.nodes)
        same(subject_of(state_.nodes.at(id)), flatten(state_.nodes.at(id)));
    for (const ProfileKey& key : outcome.changes.profiles)
        same(subject_of(state_.profiles.at(key)), flatten(state_.profiles.at(key)));
}

void SimController::commit(Batch batch) {
    const bool slow = sim_.chance(parts_.slow_commit);
    committing_ = std::move(batch);
    later(slow ? sim_.between(0.5, 20) : sim_.between(0.001, 0.01), [this] {
        Batch done = std::move(*committing_);
        committing_.reset();
        if (disk_.full) return kill("the commit failed: its disk is full");
        write(done);
        release(done);
        let_readers_in();
        if (queue_.empty() || batch_due_ || !up_) return;
        batch_due_ = true;
        later(0, [this] { take_batch(); });
    });
}

void SimController::write(const Batch& batch) {
    // Drops its mark once the tables carry it themselves.
    if (state_.restored != disk_.tables.restored) restored_ = false;
    disk_.commit(state_, batch.changes, batch.events);
    parts_.truth.committed(disk_.tables, batch.changes);
}

void SimController::release_early(Batch& batch) {
    for (Outcome& outcome : batch.outcomes) {
        for (Effect& effect : outcome.effects) {
            const bool reply = std::holds_alternative<Reply>(effect);
            const bool early = reply ? parts_.plant == Plant::reply_before_commit
                                     : parts_.plant == Plant::effects_before_commit;
            if (early) release_effect(batch, effect);
        }
    }
}

void SimController::release(Batch& batch) {
    for (Outcome& outcome : batch.outcomes) {
        for (Effect& effect : outcome.effects)
            release_effect(batch, effect);
    }
}

void SimController::release_effect(Batch& batch, Effect& effect) {
    if (const auto* reply = std::get_if<Reply>(&effect)) {
        OnAnswer answer = std::exchange(batch.inputs[reply->token - 1].on_answer, nullptr);
        if (answer) answer(reply->result);
    } else if (const auto* command = std::get_if<SendToNode>(&effect)) {
        send(command->node, command->command);
    } else {
        request_plan();
    }
}

void SimController::let_readers_in() {
    for (const auto& reader : std::exchange(readers_, {}))
        reader(state_);
}

}  // namespace rm::sim
