#include "controller/core/goodput/goodput_book.h"

#include <algorithm>
#include <utility>

#include "base/median.h"

namespace rm {

bool GoodputBook::has(const JobId& job) const {
    const std::lock_guard lock(mutex_);
    return jobs_.contains(job);
}

void GoodputBook::put(const JobId& job, std::vector<AttemptAccount> accounts) {
    const std::lock_guard lock(mutex_);
    Accounts& all = jobs_[job];
    for (AttemptAccount& account : accounts)
        all[account.epoch] = std::move(account);
}

void GoodputBook::keep_only(const std::set<JobId>& jobs) {
    const std::lock_guard lock(mutex_);
    std::erase_if(jobs_, [&](const auto& entry) { return !jobs.contains(entry.first); });
    std::erase_if(changed_, [&](const auto& entry) { return !jobs.contains(entry.first); });
    std::set<Epoch> newest;
    for (const auto& [job, accounts] : jobs_) {
        if (!accounts.empty()) newest.insert(accounts.rbegin()->first);
    }
    std::erase_if(work_, [&](const auto& entry) { return !newest.contains(entry.first); });
}

AttemptAccount& GoodputBook::account_of(Accounts& accounts, const RankStep& step) {
    const auto [at, is_new] = accounts.try_emplace(step.epoch);
    AttemptAccount& account = at->second;
    if (!is_new) return account;
    account.epoch = step.epoch;
    account.job = step.job;
    for (auto earlier = accounts.begin(); earlier != at; ++earlier)
        account.reached = std::max(account.reached, earlier->second.last_step);
    return account;
}

// The time by which the slowest rank worked longer than the others, by the last step that each has
// reported; 0 until all have.
double GoodputBook::straggler(const RankStep& step, const Facts& facts) {
    std::map<int, double>& by_rank = work_[step.epoch];
    by_rank[step.rank] = step.report.seconds - waited_seconds(step.report);
    if (step.rank != 0 || by_rank.size() < facts.num_ranks) return 0;
    std::vector<double> work;
    for (const auto& [rank, seconds] : by_rank)
        work.push_back(seconds);
    const auto slowest = find_straggler(work);
    return slowest ? slowest->seconds - slowest->others : 0;
}

void GoodputBook::take(const RankStep& step, const Facts& facts) {
    const std::lock_guard lock(mutex_);
    const double lost = straggler(step, facts);
    if (step.rank != 0) return;
    AttemptAccount& known = account_of(jobs_.at(step.job), step);
    if (step.end_offset <= known.end_offset) return;
    account(known, facts.started, times_of(step.report, step.end, step.received, lost));
    known.end_offset = step.end_offset;
    changed_.emplace(step.job, step.epoch);
}

std::vector<AttemptAccount> GoodputBook::changed() const {
    const std::lock_guard lock(mutex_);
    std::vector<AttemptAccount> changed;
    for (const auto& [job, epoch] : changed_)
        changed.push_back(jobs_.at(job).at(epoch));
    return changed;
}

void GoodputBook::are_written() {
    const std::lock_guard lock(mutex_);
    changed_.clear();
}

TimeSplit GoodputBook::split(const State& state, const Job& job, WallTime now) const {
    const std::lock_guard lock(mutex_);
    const auto known = jobs_.find(job.id);
    JobSpan span{.submitted = job.submitted, .ended = job.ended, .attempts = {}};
    for (const Epoch epoch : epochs_of(state, job.id)) {
        const Attempt& attempt = state.attempts.at(epoch);
        AttemptSpan part{attempt.started, attempt.ended, attempt.checkpoint_step};
        if (known != jobs_.end()) {
            const auto account = known->second.find(epoch);
            if (account != known->second.end()) part.account = &account->second;
        }
        span.attempts.push_back(part);
    }
    return split_of(span, now);
}

}  // namespace rm
