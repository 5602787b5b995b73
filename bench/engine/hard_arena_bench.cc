#include "bench/engine/hard_arena_bench.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "base/median.h"
#include "bench/bench.h"
#include "engine/memory/arena_planner.h"

namespace rm::bench {
namespace {

constexpr Seconds kTimeout{60};

struct Figures {
    std::vector<double> seconds;  // of CPU
    std::vector<std::size_t> blocks;
    int num_solved = 0;
    int num_proved = 0;

    void add(const Figures& other) {
        seconds.insert(seconds.end(), other.seconds.begin(), other.seconds.end());
        blocks.insert(blocks.end(), other.blocks.begin(), other.blocks.end());
        num_solved += other.num_solved;
        num_proved += other.num_proved;
    }
};

Result<Figures> plan_one(const HardCase& hard, const HardArena& arena) {
    const ArenaTrace trace = hard_trace(hard, arena);
    const SystemClock clock;
    const double started = thread_seconds();
    RM_TRY(const ArenaResult result, plan_arena(trace, {.timeout = kTimeout}, clock));
    const double took = thread_seconds() - started;
    const bool solved = result.fits(arena.capacity);
    if (!solved) {
        std::cout << format("{}, seed {}: {} blocks, peak / capacity {:.4} after {:.1} s\n",
                            to_string(hard.kind), hard.seed, trace.blocks.size(),
                            static_cast<double>(result.plan.peak.value) /
                                static_cast<double>(arena.capacity.value),
                            took)
                  << std::flush;
    }
    return Figures{{took}, {trace.blocks.size()}, solved ? 1 : 0, result.proved_least() ? 1 : 0};
}

void print(std::string_view name, Figures figures) {
    std::sort(figures.seconds.begin(), figures.seconds.end());
    const auto [fewest, most] = std::minmax_element(figures.blocks.begin(), figures.blocks.end());
    const std::size_t count = figures.seconds.size();
    std::cout << format("{:<12} {:3} to {:3} {:4} of {:3} {:7} {:8.3} s {:8.3} s {:8.3} s\n", name,
                        *fewest, *most, figures.num_solved, count, figures.num_proved,
                        median(figures.seconds), figures.seconds[count * 95 / 100],
                        figures.seconds.back());
}

}  // namespace

Result<bool> plan_hard_traces(const HardArguments& arguments) {
    std::map<HardTrace, Figures> by_kind;
    Figures all;
    for (std::uint64_t seed = 1; seed <= arguments.num_seeds; ++seed) {
        const HardCase hard = hard_case(seed);
        RM_TRY(const Figures one, plan_one(hard, arguments.arena));
        by_kind[hard.kind].add(one);
        all.add(one);
    }
    std::cout << "trace            blocks    solved  proved     median     95 %      worst\n";
    for (const auto& [kind, figures] : by_kind)
        print(to_string(kind), figures);
    print("all", all);
    return all.num_solved == std::ssize(all.seconds);
}

}  // namespace rm::bench
