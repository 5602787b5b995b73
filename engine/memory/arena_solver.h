#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "engine/memory/arena_trace.h"

namespace rm {

// When a solver must return its best plan so far.
struct ArenaLimits {
    const Clock& clock;
    MonoTime deadline;
    const std::atomic<bool>& stop;

    bool reached() const {
        return stop.load(std::memory_order_relaxed) || clock.mono().nanos >= deadline.nanos;
    }
};

// The best plan and bound known for one trace; solvers only improve them. The plan is always valid.
struct ArenaOutcome {
    ArenaPlan plan;
    Bytes bound;  // no plan has a lower peak
    bool proved() const { return plan.peak <= bound; }
    // Takes these offsets if they have a lower peak.
    void offer(std::span<const ArenaBlock> blocks, std::span<const std::int64_t> offsets);
};

// When a plan is good enough.
struct ArenaGoal {
    Bytes enough;                   // a plan with this peak or a lower one ends the work
    std::optional<Bytes> capacity;  // a proof that no plan fits it also ends an exact solver's

    bool is_reached(const ArenaOutcome& outcome) const {
        return outcome.plan.peak <= enough || outcome.proved();
    }
    bool is_settled(const ArenaOutcome& outcome) const {
        return is_reached(outcome) || (capacity && outcome.bound > *capacity);
    }
};

// Places blocks that satisfy check_trace; improves `best` or leaves it as it is.
class ArenaSolver {
public:
    virtual ~ArenaSolver() = default;
    virtual void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                         const ArenaLimits& limits, ArenaOutcome& best) const = 0;
};

// A first outcome: stacks every block on the others; the bound is peak_live.
ArenaOutcome stacked_outcome(std::span<const ArenaBlock> blocks);

// Places blocks in trace order, each in the tightest free range, in n log n whatever the limits;
// then, in several orders, each block at the lowest offset that is free for its whole lifetime, and
// each block in the smallest gap that fits, which is quadratic.
std::unique_ptr<ArenaSolver> make_greedy_solver();

// Builds from the ground up, always with the block that can lie lowest; then again, delaying blocks
// that would leave no room for others near them (ArenaSearch's test). Its time grows with the pairs
// of blocks that live together; it skips traces with millions of them.
std::unique_ptr<ArenaSolver> make_skyline_solver();

// Searches exactly for one peak after another, each with several orders and a growing number of
// nodes, until bound and peak meet: engine/memory/arena_search.h; in between it sweeps through time
// for the lowest peak: engine/memory/sweep/arena_sweep.h. The plan does not depend on the
// number of threads, unless the time runs out. Leaves traces of more than 4,096 blocks to the
// greedy orders: its depth is the number of blocks.
std::unique_ptr<ArenaSolver> make_search_solver(int num_threads);

// The mixed-integer programme of MEMO (arXiv:2407.12117), solved by CBC: for comparison on a few
// dozen blocks. It runs on one thread of the process at a time and sees the stop flag only before
// it starts. `unimplemented` in a build without CBC.
Result<std::unique_ptr<ArenaSolver>> make_milp_solver();

}  // namespace rm
