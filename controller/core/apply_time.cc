#include "controller/core/due.h"
#include "controller/core/handlers.h"
#include "controller/core/roots/questions.h"

namespace rm {
namespace {

void note_silence(Step& step, Epoch epoch) {
    const Seconds silent = step.steady() - step.state().heard.at(epoch);
    lose_attempt(step, epoch,
                 format("no worker has reported on it for {}, since {}", silent,
                        to_iso8601(step.now() + Seconds{-silent.value})));
}

void stop_for_cost(Step& step, const Costly& costly) {
    step.change_attempt(costly.epoch, "attempt.too_costly",
                        [&](Attempt& attempt) { attempt.cause = costly.cause; });
    stop_attempt(step, costly.epoch, StopReason::cost, StopMode::graceful);
}

}  // namespace

void handle(Step& step, const CommandsDue&) {
    step.look_for_commands();
    const DueTimes due = due_times(step.state(), step.steady());
    if (due.hold_changed) {
        step.hold_planning(!step.state().planning_held);
        step.planning_changed();
    }
    for (const JobId& id : due.retries) {
        step.change_job(id, "job.retry_due", [](Job& job) { job.retry_at = {}; });
        step.planning_changed();
    }
    for (const Stall& stall : due.stalls)
        fail_attempt(step, stall.epoch, {stall.kind, -1, stall.cause});
    for (const Vanished& vanished : due.vanished)
        lose_attempt(step, vanished.epoch, vanished.cause);
    for (const Costly& costly : due.costly)
        stop_for_cost(step, costly);
    for (const Epoch epoch : due.lost) {
        if (step.state().heard.contains(epoch)) note_silence(step, epoch);
    }
    if (due.questions) ask_questions(step);
}

}  // namespace rm
