#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "engine/memory/arena_trace.h"

namespace rm {

// When a solver has to come back with what it has.
struct ArenaLimits {
    const Clock& clock;
    MonoTime deadline;
    const std::atomic<bool>& stop;

    bool reached() const {
        return stop.load(std::memory_order_relaxed) || clock.mono().nanos >= deadline.nanos;
    }
};

// The best that is known about one trace; solvers only improve it. The plan is valid at any time.
struct ArenaOutcome {
    ArenaPlan plan;
    Bytes bound;  // no plan has a lower peak
    bool proved() const { return plan.peak <= bound; }
    // Takes these places where they have a lower peak.
    void offer(std::span<const ArenaBlock> blocks, std::span<const std::int64_t> offsets);
};

// How far to go.
struct ArenaGoal {
    Bytes enough;                   // a plan with this peak or a lower one ends the work
    std::optional<Bytes> capacity;  // a proof that no plan is within it ends an exact solver's too

    bool is_reached(const ArenaOutcome& outcome) const {
        return outcome.plan.peak <= enough || outcome.proved();
    }
    bool is_settled(const ArenaOutcome& outcome) const {
        return is_reached(outcome) || (capacity && outcome.bound > *capacity);
    }
};

// Places blocks. Blocks are as check_trace demands; `best` is improved or left as it is.
class ArenaSolver {
public:
    virtual ~ArenaSolver() = default;
    virtual void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                         const ArenaLimits& limits, ArenaOutcome& best) const = 0;
};

// Every block on top of the others at first; the bound is peak_live.
ArenaOutcome stacked_outcome(std::span<const ArenaBlock> blocks);

// Blocks as they come, each into the tightest free range, which takes n log n whatever the limits;
// then each of several orders, every block at the lowest offset that is free for its whole life,
// and every block into the smallest gap that takes it, which is quadratic.
std::unique_ptr<ArenaSolver> make_greedy_solver();

// From the ground up, always the block that can lie lowest; again without blocks that would leave
// no room for others near them (ArenaSearch's test). Time grows with the pairs of blocks that live
// together; it leaves traces with millions of them alone.
std::unique_ptr<ArenaSolver> make_skyline_solver();

// Exact search for one peak after another, each with several orders and a growing number of nodes,
// until the bound and the peak meet: engine/memory/arena_search.h. The plan does not depend on the
// number of threads, only, when the time runs out, on how far it got. Leaves traces of more than
// 4,096 blocks to the greedy orders: its depth is the number of blocks.
std::unique_ptr<ArenaSolver> make_search_solver(int num_threads);

// The mixed-integer programme of MEMO (arXiv:2407.12117), solved by CBC: for comparison on a few
// dozen blocks. It runs on one thread of the process at a time and sees the stop flag only before
// it starts. `unimplemented` in a build without CBC.
Result<std::unique_ptr<ArenaSolver>> make_milp_solver();

}  // namespace rm
