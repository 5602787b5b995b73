#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "engine/memory/arena_search.h"
#include "engine/memory/arena_solver.h"
#include "engine/memory/sweep/arena_sweep.h"

namespace rm {
namespace {

using Ranking = ArenaSearch::Ranking;
using Verdict = ArenaSearch::Verdict;

// The depth of a search is the number of blocks.
constexpr std::size_t kMaxBlocks = 4096;
constexpr std::int64_t kBudgetGrowth = 4;
// With each limit of nodes, the search approaches its lowest peak to one part in this many.
constexpr std::int64_t kPrecision = 512;
// The nodes of the sweep after a try of the lowest peak: one attempt when it is the first try.
constexpr std::int64_t sweep_nodes(Ranking ranking, std::int64_t max_nodes) {
    return ranking == Ranking::kept ? 1 : 4 * max_nodes;
}

using enum SearchKey;
// No order is good for every trace; on each hard public instance one of the first two is.
constexpr std::array<SearchKeys, 6> kOrders = {{
    {total, lifetime, area},
    {lifetime, total, area},
    {total, area, lifetime},
    {size, lifetime, total},
    {lifetime, area, total},
    {area, total, lifetime},
}};

struct SearchOrder {
    SearchKeys keys;
    std::vector<int> rank;
};

std::vector<SearchOrder> make_orders(const SearchProblem& problem) {
    std::vector<SearchOrder> orders;
    for (const SearchKeys& keys : kOrders) {
        SearchOrder order{keys, rank_blocks(problem, keys)};
        const auto same = [&](const SearchOrder& other) { return other.rank == order.rank; };
        if (std::none_of(orders.begin(), orders.end(), same)) orders.push_back(std::move(order));
    }
    return orders;
}

// Tries one order after another, with one target and one limit of nodes, until an order decides. An
// order that decides ends only later orders, so that the deciding order does not depend on the
// number of threads.
class Round {
public:
    struct Decision {
        Verdict verdict = Verdict::stopped;
        std::vector<std::int64_t> offsets;  // of `placed`
        std::int64_t least_peak = 0;        // of `impossible`
    };

    Round(const SearchProblem& problem, const std::vector<SearchOrder>& orders, Ranking ranking,
          const ArenaLimits& limits)
        : problem_(problem),
          orders_(orders),
          ranking_(ranking),
          limits_(limits),
          decisions_(orders.size()),
          first_decided_(static_cast<int>(orders.size())) {}

    Decision run(std::int64_t target, std::int64_t max_nodes, int num_threads) {
        const auto work = [&] { take_orders(target, max_nodes); };
        std::vector<std::thread> others;
        for (int i = 1; i < std::min(num_threads, static_cast<int>(orders_.size())); ++i)
            others.emplace_back(work);
        work();
        for (std::thread& thread : others)
            thread.join();
        const auto first = usize(first_decided_.load());
        return first < decisions_.size() ? std::move(decisions_[first]) : Decision{};
    }

private:
    void take_orders(std::int64_t target, std::int64_t max_nodes) {
        for (int order = next_++; order < first_decided_; order = next_++) {
            const auto i = usize(order);
            ArenaSearch search(problem_, orders_[i].rank, orders_[i].keys, ranking_);
            const auto interrupted = [&] { return order > first_decided_ || limits_.reached(); };
            const Verdict verdict = search.run(target, max_nodes, interrupted);
            if (verdict == Verdict::stopped) continue;
            decisions_[i] = {verdict, search.offsets(), search.least_peak()};
            decide(order);
        }
    }

    void decide(int order) {
        int first = first_decided_;
        while (order < first && !first_decided_.compare_exchange_weak(first, order)) {
        }
    }

    const SearchProblem& problem_;
    const std::vector<SearchOrder>& orders_;
    const Ranking ranking_;
    const ArenaLimits& limits_;
    std::vector<Decision> decisions_;  // of each order; written by its thread only
    std::atomic<int> next_{0};
    std::atomic<int> first_decided_;
};

class SearchSolver final : public ArenaSolver {
public:
    explicit SearchSolver(int num_threads) : num_threads_(num_threads) {}

    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 const ArenaLimits& limits, ArenaOutcome& best) const override {
        if (blocks.size() > kMaxBlocks || goal.is_settled(best)) return;
        const SearchProblem problem(blocks);
        const auto orders = make_orders(problem);
        // Enough for a few dives to the bottom.
        std::int64_t max_nodes = 1000 + 4 * problem.num_blocks;
        // Each of the two is far quicker on some traces.
        Ranking ranking = Ranking::kept;
        std::optional<ArenaSweeps> sweeps;
        const auto is_over = [&] { return goal.is_settled(best) || limits.reached(); };
        const auto try_target = [&](std::int64_t target) {
            Round round(problem, orders, ranking, limits);
            return apply(round.run(target, max_nodes, num_threads_), blocks, best);
        };
        while (!is_over()) {
            // The lowest useful peak that may exist: usually a plan reaches it.
            std::int64_t missed = std::max(goal.enough, best.bound).value;
            const Verdict lowest = try_target(missed);
            if (lowest == Verdict::stopped)
                sweep(sweeps, {missed}, sweep_nodes(ranking, max_nodes), blocks, limits, best);
            // Otherwise approaches it from above.
            while (!is_over() && best.plan.peak.value - missed > missed / kPrecision + 1) {
                const std::int64_t middle = missed + (best.plan.peak.value - missed) / 2;
                if (try_target(middle) != Verdict::placed) missed = middle;
            }
            if (lowest == Verdict::stopped && ranking == Ranking::anew) max_nodes *= kBudgetGrowth;
            ranking = Ranking::anew;
        }
    }

private:
    static void sweep(std::optional<ArenaSweeps>& sweeps, Bytes target, std::int64_t max_nodes,
                      std::span<const ArenaBlock> blocks, const ArenaLimits& limits,
                      ArenaOutcome& best) {
        if (blocks.size() > ArenaSweep::kMaxBlocks) return;
        if (!sweeps || sweeps->target() != target) sweeps.emplace(blocks, target);
        const auto offsets = sweeps->run(max_nodes, [&] { return limits.reached(); });
        if (offsets) best.offer(blocks, *offsets);
    }

    static Verdict apply(const Round::Decision& decision, std::span<const ArenaBlock> blocks,
                         ArenaOutcome& best) {
        if (decision.verdict == Verdict::impossible)
            best.bound = std::max(best.bound, Bytes{decision.least_peak});
        if (decision.verdict == Verdict::placed) best.offer(blocks, decision.offsets);
        return decision.verdict;
    }

    int num_threads_;
};

}  // namespace

std::unique_ptr<ArenaSolver> make_search_solver(int num_threads) {
    return std::make_unique<SearchSolver>(num_threads);
}

}  // namespace rm
