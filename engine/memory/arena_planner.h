#pragma once

#include "engine/memory/arena_solver.h"

namespace rm {

enum class ArenaSolverKind { greedy, search, milp };

struct ArenaOptions {
    ArenaSolverKind solver = ArenaSolverKind::search;  // after the quick ones, which always run
    int num_threads = 1;                               // of the search
    Seconds timeout{60};
    // Set: the first plan within it is good enough, and a proof that none exists ends the work.
    // Not set: searches for the least peak.
    std::optional<Bytes> capacity;
};

struct ArenaResult {
    ArenaPlan plan;     // validated; the best that was found, even if it exceeds the capacity
    Bytes lower_bound;  // peak_live of the trace
    Bytes bound;        // no plan has a lower peak: lower_bound or what a search has proved
    int num_parts = 0;  // of time, which share no block and are planned separately

    bool proved_least() const { return plan.peak <= bound; }
    bool fits(Bytes capacity) const { return plan.peak <= capacity; }
};

// Finds offsets for every block of the trace. If it has groups, plans inside each group first
// (equal groups once), then groups as single blocks (plan_grouped); if that is not good enough,
// plans all blocks and starts from that plan. Returns the best plan so far at the timeout, or soon
// after `stop` is set, if it is given. Errors: a trace that check_trace refuses; a solver that this
// build does not have.
Result<ArenaResult> plan_arena(const ArenaTrace& trace, const ArenaOptions& options,
                               const Clock& clock, const std::atomic<bool>* stop = nullptr);

// The steps of plan_arena on blocks without groups. `best` is a valid plan to start from.
class ArenaWork {
public:
    ArenaWork(const ArenaSolver* exact, const ArenaLimits& limits)
        : skyline_(make_skyline_solver()),
          greedy_(make_greedy_solver()),
          exact_(exact),
          limits_(limits) {}

    // Plans one part of time after the other, the highest first: the rest need not get below it.
    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 ArenaOutcome& best) const;

private:
    std::unique_ptr<ArenaSolver> skyline_;
    std::unique_ptr<ArenaSolver> greedy_;
    const ArenaSolver* exact_;  // null: the quick solvers only
    ArenaLimits limits_;
};

// Two levels, as in MEMO (arXiv:2407.12117): the blocks of each group (a layer's forward, a layer's
// backward) are placed relative to each other; then groups, as single blocks that live from their
// first block's begin to their last one's end and are as large as their plan, are placed among the
// blocks without a group. Groups that are equal but for a shift in time are solved once. A block
// that outlives its layer is better left without a group: it would keep the whole layer's bytes.
ArenaPlan plan_grouped(const ArenaTrace& trace, const ArenaGoal& goal, const ArenaWork& work);

}  // namespace rm
