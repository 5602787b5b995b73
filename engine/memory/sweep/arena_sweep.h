#pragma once

#include <functional>
#include <optional>

#include "base/random.h"
#include "engine/memory/arena_trace.h"
#include "engine/memory/sweep/arena_refills.h"
#include "engine/memory/sweep/order_tree.h"

namespace rm {

// Goes through time with all orders that the live blocks may lie in (OrderTree), for arenas with
// little room to spare. Where an arena is full, the blocks that begin at a moment take exactly the
// room of those that end: most often all of it lies side by side, or sizes tell which blocks took
// whose room. No order is fixed before a later moment demands it.
//
// At each moment the sweep ranks the ways to find room by their evidence: how unlikely the sizes
// agree by chance, and how unlikely the orders so far allow it by chance. It takes the best, and
// comes back to others as long as the evidence that it goes without stays within a budget.
class ArenaSweep {
public:
    // Larger traces would take much memory.
    static constexpr std::size_t kMaxBlocks = 1024;

    ArenaSweep(std::span<const ArenaBlock> blocks, Bytes target);

    struct Attempt {
        double budget = 0;  // of evidence
        double noise = 0;   // on it
        std::uint64_t seed = 0;
        std::int64_t max_nodes = 0;
    };
    // The offsets, if all blocks fit the target.
    std::optional<std::vector<std::int64_t>> run(const Attempt& attempt,
                                                 const std::function<bool()>& interrupted);

private:
    struct Event {
        ArenaItems ending;
        ArenaItems beginning;
    };
    // One refill, and the orders before it.
    struct Step {
        OrderTree before;
        ArenaItems room;
        ArenaItems others;  // blocks, and the holes that are left
    };
    struct State {
        OrderTree tree;
        ArenaItems holes;
    };
    struct Option {
        double evidence;
        std::vector<Refill> refills;
    };

    bool advance(std::size_t event, State& state, double budget);
    bool advance_with(const Option& option, std::size_t event, const State& state, double budget);
    std::vector<Option> options_of(const Event& event, State& state);
    // Appends to the steps unless they are null.
    std::optional<double> apply(const std::vector<Refill>& refills, State& state,
                                std::vector<Step>* steps);
    void take_back(std::size_t num_steps, std::size_t num_items);
    std::vector<std::int64_t> holes_of(std::int64_t bytes);
    bool is_demanded(std::int64_t bytes) const;
    std::vector<std::int64_t> place() const;
    void find_events(std::span<const ArenaBlock> blocks);
    void find_demands();

    std::size_t num_blocks_;
    std::int64_t unit_ = 0;  // of all sizes
    std::vector<Event> events_;
    std::vector<std::int64_t> demands_;  // bytes that blocks take from holes, by moment
    Attempt attempt_;
    const std::function<bool()>* interrupted_ = nullptr;
    Rng rng_{0};
    std::int64_t nodes_left_ = 0;
    std::vector<std::int64_t> sizes_;  // of the blocks, of the whole arena, and of holes
    std::vector<Step> steps_;
    std::vector<int> last_order_;
};

// Attempts from both ends of time, with changing budgets and noise.
class ArenaSweeps {
public:
    ArenaSweeps(std::span<const ArenaBlock> blocks, Bytes target);

    // Goes on with attempts until one succeeds or they have taken so many nodes.
    std::optional<std::vector<std::int64_t>> run(std::int64_t max_nodes,
                                                 const std::function<bool()>& interrupted);
    Bytes target() const { return target_; }

private:
    Bytes target_;
    ArenaSweep forward_;
    ArenaSweep backward_;
    int round_ = 0;
};

}  // namespace rm
