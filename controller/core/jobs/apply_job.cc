#include <algorithm>

#include "base/random.h"
#include "controller/core/handlers.h"
#include "controller/core/roots/questions.h"

namespace rm {
namespace {

constexpr int kIdLetters = 6;
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

JobId draw_id(const State& state, std::uint64_t random) {
    Rng rng(random);
    while (true) {
        JobId id;
        // A letter first, so that no id looks like a number.
        id.value += kAlphabet[rng.below(26)];
        while (id.value.size() < kIdLetters)
            id.value += kAlphabet[rng.below(kAlphabet.size())];
        if (!state.jobs.contains(id)) return id;
    }
}

std::int64_t next_number(const State& state) {
    // Jobs are never removed, so their count is the last number.
    return static_cast<std::int64_t>(state.jobs.size()) + 1;
}

Result<JobId> answer_again(const State& state, const JobId& id, const SubmitJob& input) {
    if (find_job(state, id)->owner != input.owner) {
        return make_error(ErrorCode::already_exists,
                          "request {} is already one of another owner; use a new request id",
                          input.request);
    }
    if (find_job(state, id)->spec == input.spec) return id;
    return make_error(ErrorCode::already_exists,
                      "request {} is already job {}, with another spec; use a new request id",
                      input.request, id);
}

}  // namespace

void handle(Step& step, const SubmitJob& input) {
    const State& state = step.state();
    if (const auto it = state.requests.find(input.request); it != state.requests.end()) {
        return step.reply(answer_again(state, it->second, input));
    }
    Job job;
    job.id = draw_id(state, input.random);
    job.number = next_number(state);
    job.request = input.request;
    job.owner = input.owner;
    job.spec = input.spec;
    job.yaml = input.yaml;
    job.continues = input.continues;
    job.submitted = step.now();
    job.blocking_reasons = {{"waiting to be scheduled"}};
    const JobId id = job.id;
    step.add_job(std::move(job), "job.submitted");
    ask_about(step, *find_job(step.state(), id));
    step.reply(id);
}

void handle(Step& step, const CancelJob& input) {
    const Job* job = find_job(step.state(), input.job);
    if (job == nullptr) {
        return step.reply(make_error(ErrorCode::not_found, "there is no job '{}'", input.job));
    }
    if (job->state == JobState::cancelled) return step.reply(input.job);
    if (is_terminal(job->state)) {
        return step.reply(make_error(ErrorCode::failed_precondition, "job {} has already ended: {}",
                                     input.job, to_string(job->state)));
    }
    if (job->state == JobState::pending) {
        step.change_job(input.job, "job.cancelled", [&](Job& changed) {
            changed.state = JobState::cancelled;
            changed.ended = step.since_restore();
            changed.blocking_reasons.clear();
            changed.retry_at = {};
        });
        return step.reply(input.job);
    }
    stop_attempt(step, newest_attempt(step.state(), input.job)->epoch, StopReason::cancel,
                 input.mode);
    step.reply(input.job);
}

}  // namespace rm
