#include "controller/core/jobs/job_cost.h"

#include <algorithm>

namespace rm {
namespace {

// 0 unless all ranks have said theirs: those of a lost node never do.
double joules_of(const Attempt& attempt) {
    double joules = 0;
    for (const RankRecord& rank : attempt.ranks) {
        if (rank.joules <= 0) return 0;
        joules += rank.joules;
    }
    return joules;
}

}  // namespace

RunCost cost_of(const Attempt& attempt, WallTime now) {
    const WallTime end = attempt.ended.micros != 0 ? attempt.ended : now;
    // The clock may have been set back.
    const Seconds held{std::max(0.0, (end - attempt.started).value)};
    return cost_of(attempt.rates, static_cast<int>(attempt.ranks.size()), held, joules_of(attempt));
}

RunCost cost_of(const State& state, const Job& job, WallTime now) {
    RunCost cost;
    for (const Epoch epoch : epochs_of(state, job.id)) {
        const Attempt& attempt = state.attempts.at(epoch);
        if (attempt.rates != Rates{}) add_cost(cost, cost_of(attempt, now));
    }
    return cost;
}

double spent_usd(const State& state, const Job& job, WallTime now) {
    double spent = 0;
    for (const Epoch epoch : epochs_of(state, job.id)) {
        const RunCost cost = cost_of(state.attempts.at(epoch), now);
        if (cost.currency == kDollars) spent += cost.money;
    }
    return spent;
}

}  // namespace rm
