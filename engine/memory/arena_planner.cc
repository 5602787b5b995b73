#include "engine/memory/arena_planner.h"

#include <algorithm>

#include "engine/memory/arena_sections.h"
#include "engine/memory/arena_validator.h"

namespace rm {
namespace {

struct TimePart {
    std::vector<int> members;
    std::vector<ArenaBlock> blocks;
    ArenaOutcome outcome;
};

ArenaPlan plan_of_part(const TimePart& part, const ArenaPlan& whole) {
    ArenaPlan plan;
    for (const int i : part.members)
        plan.offsets.push_back(whole.offsets[usize(i)]);
    plan.peak = peak_of(part.blocks, plan.offsets);
    return plan;
}

std::vector<TimePart> make_parts(std::span<const ArenaBlock> blocks, const ArenaPlan& start) {
    std::vector<TimePart> parts;
    for (std::vector<int>& members : split_by_time(blocks)) {
        TimePart part{std::move(members), {}, {}};
        for (const int i : part.members)
            part.blocks.push_back(blocks[usize(i)]);
        part.outcome = {plan_of_part(part, start), peak_live(part.blocks)};
        parts.push_back(std::move(part));
    }
    return parts;
}

ArenaOutcome join(const std::vector<TimePart>& parts, std::size_t num_blocks) {
    ArenaOutcome whole{{std::vector<Bytes>(num_blocks), {}}, {}};
    for (const TimePart& part : parts) {
        for (std::size_t k = 0; k < part.members.size(); ++k) {
            whole.plan.offsets[usize(part.members[k])] = part.outcome.plan.offsets[k];
        }
        whole.plan.peak = std::max(whole.plan.peak, part.outcome.plan.peak);
        whole.bound = std::max(whole.bound, part.outcome.bound);
    }
    return whole;
}

Result<std::unique_ptr<ArenaSolver>> make_exact_solver(const ArenaOptions& options) {
    switch (options.solver) {
        case ArenaSolverKind::greedy:
            return std::unique_ptr<ArenaSolver>();
        case ArenaSolverKind::search:
            return make_search_solver(options.num_threads);
        case ArenaSolverKind::milp:
            return make_milp_solver();
    }
    return invalid_argument("solver {} is not known", static_cast<int>(options.solver));
}

MonoTime deadline_of(const ArenaOptions& options, const Clock& clock) {
    // Caps the timeout at a year, whose nanoseconds fit 64 bits.
    const double seconds = std::min(options.timeout.value, 365.0 * 24 * 3600);
    return {clock.mono().nanos + static_cast<std::int64_t>(seconds * 1e9)};
}

}  // namespace

void ArenaWork::improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                        ArenaOutcome& best) const {
    if (goal.is_reached(best)) return;
    std::vector<TimePart> parts = make_parts(blocks, best.plan);
    ArenaGoal rest = goal;
    rest.enough = std::max(goal.enough, best.bound);
    for (TimePart& part : parts) {
        skyline_->improve(part.blocks, rest, limits_, part.outcome);
        if (!rest.is_reached(part.outcome))
            greedy_->improve(part.blocks, rest, limits_, part.outcome);
    }
    std::stable_sort(parts.begin(), parts.end(), [](const TimePart& a, const TimePart& b) {
        return a.outcome.plan.peak > b.outcome.plan.peak;
    });
    for (TimePart& part : parts) {
        if (exact_ != nullptr) exact_->improve(part.blocks, rest, limits_, part.outcome);
        rest.enough = std::max(rest.enough, part.outcome.bound);
    }
    const ArenaOutcome joined = join(parts, blocks.size());
    best.bound = std::max(best.bound, joined.bound);
    best.plan = joined.plan;
}

Result<ArenaResult> plan_arena(const ArenaTrace& trace, const ArenaOptions& options,
                               const Clock& clock, const std::atomic<bool>* stop) {
    RM_RETURN_IF_ERROR(check_trace(trace));
    RM_TRY(const std::unique_ptr<ArenaSolver> exact, make_exact_solver(options));
    const std::atomic<bool> never = false;
    const ArenaLimits limits{clock, deadline_of(options, clock), stop ? *stop : never};
    const ArenaWork work(exact.get(), limits);

    ArenaOutcome best = stacked_outcome(trace.blocks);
    const Bytes lower_bound = best.bound;
    const ArenaGoal goal{std::max(lower_bound, options.capacity.value_or(lower_bound)),
                         options.capacity};
    // plan_grouped minimises the peak of each group, more than a capacity demands.
    if (!trace.groups.empty() && options.capacity)
        ArenaWork(nullptr, limits).improve(trace.blocks, goal, best);
    if (!trace.groups.empty() && !goal.is_reached(best))
        best.plan = plan_grouped(trace, goal, work);
    work.improve(trace.blocks, goal, best);
    if (const Status valid = validate_arena(trace, best.plan); !valid) {
        return make_error(ErrorCode::internal, "the planned arena is wrong: {}",
                          valid.error().message);
    }
    const int num_parts = static_cast<int>(split_by_time(trace.blocks).size());
    return ArenaResult{std::move(best.plan), lower_bound, best.bound, num_parts};
}

}  // namespace rm
