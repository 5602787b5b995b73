#include "controller/loops/goodput_loop.h"

#include <map>

#include "controller/core/jobs/has_series.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"
#include "service/log.h"

namespace rm {
namespace {

namespace pb = ringmaster::v1;

constexpr Seconds kLook{2};
constexpr Seconds kLookAfterTrouble{60};
constexpr int kRows = 500;

std::set<JobId> jobs_with_series(const State& state, WallTime now) {
    std::set<JobId> jobs;
    for (const auto& [id, job] : state.jobs) {
        if (has_series(state, job, now)) jobs.insert(id);
    }
    return jobs;
}

using FactsByEpoch = std::map<Epoch, GoodputBook::Facts>;

FactsByEpoch facts_of(const State& state, const std::vector<StepRow>& rows) {
    FactsByEpoch facts;
    for (const StepRow& row : rows) {
        const Attempt* attempt = find_attempt(state, row.epoch);
        if (attempt != nullptr) facts[row.epoch] = {attempt->started, attempt->ranks.size()};
    }
    return facts;
}

// A worker of an earlier version does not say when the step ended.
RankStep step_of(const StepRow& row) {
    pb::StepReport message;
    RankStep step{.job = row.job,
                  .epoch = row.epoch,
                  .rank = row.rank,
                  .end_offset = row.end_offset,
                  .received = row.received,
                  .end = row.received,
                  .report = {}};
    if (message.ParseFromString(row.bytes)) step.report = from_proto(message);
    if (message.has_time()) step.end = from_proto(message.time());
    return step;
}

}  // namespace

GoodputLoop::GoodputLoop(OpsContext& ops, GoodputStore& store, GoodputBook& book)
    : ops_(ops), store_(store), book_(book), loop_([this](auto& stop) { return look(stop); }) {}

Seconds GoodputLoop::look(const std::stop_token& stop) {
    Status done = load(jobs());
    bool more = done.ok();
    while (more && !stop.stop_requested()) {
        const Result<bool> read = read_some();
        if (!read) done = read.error();
        more = read.ok() && *read;
    }
    book_.keep_only(jobs());  // one of them may have begun meanwhile
    if (done) return kLook;
    log_event(LogLevel::warning, "goodput_not_kept", {{"reason", done.error().message}});
    return kLookAfterTrouble;
}

std::set<JobId> GoodputLoop::jobs() const {
    const WallTime now = ops_.clock.wall();
    return ops_.control.read([&](const State& state) { return jobs_with_series(state, now); });
}

Status GoodputLoop::load(const std::set<JobId>& jobs) {
    for (const JobId& job : jobs) {
        if (book_.has(job)) continue;
        RM_TRY(std::vector<AttemptAccount> accounts, store_.load(job));
        book_.put(job, std::move(accounts));
    }
    return {};
}

Result<bool> GoodputLoop::read_some() {
    RM_TRY(const std::vector<StepRow> rows, store_.next(kRows));
    if (rows.empty()) return false;
    std::set<JobId> jobs;
    for (const StepRow& row : rows)
        jobs.insert(row.job);
    RM_RETURN_IF_ERROR(load(jobs));
    take(rows);
    RM_RETURN_IF_ERROR(store_.write(book_.changed()));
    book_.are_written();
    return std::ssize(rows) == kRows;
}

// A report of an attempt that the tables do not know counts nowhere.
void GoodputLoop::take(const std::vector<StepRow>& rows) {
    const FactsByEpoch facts =
        ops_.control.read([&](const State& state) { return facts_of(state, rows); });
    for (const StepRow& row : rows) {
        const auto known = facts.find(row.epoch);
        if (known != facts.end()) book_.take(step_of(row), known->second);
    }
}

}  // namespace rm
