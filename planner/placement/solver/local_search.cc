#include <algorithm>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "planner/placement/solver/search.h"

namespace rm {
namespace {

constexpr int kMostMovedRanks = 256;
constexpr double kNoise = 1e-9;  // of crowding, whose last digits are not exact

class LocalSearch {
public:
    LocalSearch(const PlacementProblem& problem, Evaluator& evaluator, const DeviceTable& devices,
                const SearchLimits& limits)
        : evaluator_(evaluator),
          devices_(devices),
          limits_(limits),
          rng_(limits.seed),
          num_ranks_(problem.mesh.num_ranks()),
          bottlenecks_(usize(evaluator.num_phases())) {
        find_grains(problem);
        first_of_node_.push_back(0);
        for (int node = 0; node < problem.graph.num_nodes(); ++node)
            first_of_node_.push_back(first_of_node_.back() + problem.graph.num_devices(node));
        rank_on_.assign(usize(first_of_node_.back()), -1);
        for (int rank = 0; rank < num_ranks_; ++rank)
            rank_on_[slot(at(rank))] = rank;
    }

    SolverResult run() {
        evaluator_.calibrate();
        settle();
        remember();
        // Independent of the budget, so that a larger budget continues where a smaller one ends.
        const std::int64_t patience = std::clamp<std::int64_t>(10 * num_ranks_, 200, 5000);
        std::int64_t since_better = 0;
        while (!is_over()) {
            if (attempt()) {
                since_better = 0;
            } else if (++since_better >= patience) {
                start_anew();
                since_better = 0;
            }
        }
        if (score_ < best_.score) remember();
        best_.evaluations = evaluations_;
        best_.cancelled = cancelled_;
        return best_;
    }

private:
    // Block sizes: one rank, a group that works on the same tokens, and the ranks of a node.
    void find_grains(const PlacementProblem& problem) {
        grains_ = {1};
        const int unit = problem.mesh.size(Axis::ulysses) * problem.mesh.size(Axis::tensor);
        const int per_node = problem.graph.num_devices(0);
        for (const int grain : {unit, per_node}) {
            if (grain > grains_.back() && num_ranks_ % grain == 0 && num_ranks_ > grain) {
                grains_.push_back(grain);
            }
        }
    }

    Endpoint at(int rank) const { return evaluator_.placement()[usize(rank)]; }
    std::size_t slot(Endpoint device) const {
        return usize(first_of_node_[usize(device.node)] + device.device);
    }
    int below(int bound) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(bound))); }

    bool is_over() {
        if (evaluations_ >= limits_.budget) return true;
        if (evaluations_ % 256 == 0 && limits_.cancelled && limits_.cancelled()) cancelled_ = true;
        return cancelled_;
    }

    void remember() {
        best_.placement = evaluator_.placement();
        best_.score = score_;
    }

    void move(const std::vector<RankMove>& moves) {
        for (const RankMove& m : moves)
            rank_on_[slot(at(m.rank))] = -1;
        for (const RankMove& m : moves)
            rank_on_[slot(m.to)] = m.rank;
        evaluator_.move(moves);
    }

    std::vector<RankMove> inverse(const std::vector<RankMove>& moves) const {
        std::vector<RankMove> back;
        for (const RankMove& m : moves)
            back.push_back({m.rank, at(m.rank)});
        return back;
    }

    void settle() {
        score_ = evaluator_.score();
        crowding_ = evaluator_.crowding();
        for (auto& flows : bottlenecks_)
            flows.reset();
    }

    bool is_better(const PlacementScore& now, double crowding) const {
        if (now.time != score_.time) return now.time < score_.time;
        if (now.unpreferred != score_.unpreferred) return now.unpreferred < score_.unpreferred;
        if (std::abs(crowding - crowding_) > kNoise * crowding_) return crowding < crowding_;
        return now.link_time < score_.link_time;
    }

    // Evaluates one move; returns whether it was kept.
    bool attempt() {
        const std::vector<RankMove> moves = propose();
        ++evaluations_;
        if (moves.empty()) return false;
        const std::vector<RankMove> back = inverse(moves);
        move(moves);
        if (is_better(evaluator_.score(), evaluator_.crowding())) {
            settle();
            return true;
        }
        move(back);
        return false;
    }

    // Returns to the best placement unless this one is better, then makes a few random moves.
    void start_anew() {
        if (score_ < best_.score) {
            remember();
        } else {
            std::vector<RankMove> back;
            for (int rank = 0; rank < num_ranks_; ++rank) {
                const Endpoint to = best_.placement[usize(rank)];
                if (at(rank) != to) back.push_back({rank, to});
            }
            move(back);
        }
        evaluator_.calibrate();
        settle();
        for (int i = 0; i < 2 + below(3); ++i) {
            move(propose());
            settle();
        }
    }

    // A rank of a bottleneck flow; longer phases are picked more often.
    int pick_rank() {
        if (below(5) == 0) return below(num_ranks_);
        double left = rng_.uniform() * score_.time;
        for (int phase = 0; phase < evaluator_.num_phases(); ++phase) {
            left -= evaluator_.phase_time(phase);
            if (left > 0) continue;
            auto& flows = bottlenecks_[usize(phase)];
            if (!flows) flows = evaluator_.bottleneck(phase);
            if (flows->empty()) break;
            const Flow& flow = (*flows)[rng_.below(flows->size())];
            return below(2) == 0 ? flow.from : flow.to;
        }
        return below(num_ranks_);
    }

    std::vector<RankMove> propose() {
        const int rank = pick_rank();
        if (num_ranks_ == 1) return move_to_free(rank);
        const int grain = grains_[rng_.below(grains_.size())];
        switch (below(8)) {
            case 0:
            case 1:
                return swap_blocks(rank, grain);
            case 2:
                return swap_inside_node(rank);
            case 3:
                return swap_nodes(rank);
            case 4:
                return move_to_free(rank);
            case 5:
                return move_node_to_free(rank);
            case 6:
                return turn_run(rank, grain);
            default:
                return shift_run(rank, grain);
        }
    }

    // Ranks first..first+length-1 get the devices of ranks source(0..length-1).
    template <typename Source>
    std::vector<RankMove> permute(int first, int length, Source source) const {
        std::vector<RankMove> moves;
        for (int i = 0; i < length; ++i) {
            const Endpoint to = at(first + source(i));
            if (to != at(first + i)) moves.push_back({first + i, to});
        }
        return moves;
    }

    std::vector<RankMove> swap_blocks(int rank, int grain) {
        const int num_blocks = num_ranks_ / grain;
        const int a = rank / grain;
        const int b = below(num_blocks);
        std::vector<RankMove> moves;
        for (int i = 0; i < grain && a != b; ++i) {
            moves.push_back({a * grain + i, at(b * grain + i)});
            moves.push_back({b * grain + i, at(a * grain + i)});
        }
        return moves;
    }

    // Swaps the contents of two devices, each a rank or nothing.
    void swap_devices(Endpoint a, Endpoint b, std::vector<RankMove>& moves) const {
        const int on_a = rank_on_[slot(a)];
        const int on_b = rank_on_[slot(b)];
        if (on_a >= 0) moves.push_back({on_a, b});
        if (on_b >= 0) moves.push_back({on_b, a});
    }
    std::vector<RankMove> swap_inside_node(int rank) {
        const std::vector<Endpoint>& here = devices_.usable_of(at(rank).node);
        const Endpoint other = here[rng_.below(here.size())];
        std::vector<RankMove> moves;
        if (other != at(rank)) swap_devices(at(rank), other, moves);
        return moves;
    }
    std::vector<RankMove> swap_nodes(int rank, int other) const {
        const std::vector<Endpoint>& here = devices_.usable_of(at(rank).node);
        const std::vector<Endpoint>& there = devices_.usable_of(other);
        std::vector<RankMove> moves;
        if (other == at(rank).node) return moves;
        for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i)
            swap_devices(here[i], there[i], moves);
        return moves;
    }
    std::vector<RankMove> swap_nodes(int rank) {
        return swap_nodes(rank, at(below(num_ranks_)).node);
    }

    std::optional<Endpoint> free_device() {
        const std::vector<Endpoint>& all = devices_.usable();
        if (all.size() <= usize(num_ranks_)) return std::nullopt;
        for (int tries = 0; tries < 16; ++tries) {
            const Endpoint device = all[rng_.below(all.size())];
            if (rank_on_[slot(device)] < 0) return device;
        }
        return std::nullopt;
    }
    std::vector<RankMove> move_to_free(int rank) {
        const std::optional<Endpoint> device = free_device();
        if (!device) return swap_blocks(rank, 1);
        return {{rank, *device}};
    }
    std::vector<RankMove> move_node_to_free(int rank) {
        const std::optional<Endpoint> device = free_device();
        return device ? swap_nodes(rank, device->node) : swap_nodes(rank);
    }

    // A first block and a number of blocks: a run near `rank`, at most kMostMovedRanks ranks.
    std::pair<int, int> pick_run(int rank, int grain) {
        const int num_blocks = num_ranks_ / grain;
        const int most = std::min(num_blocks, std::max(2, kMostMovedRanks / grain));
        const int length = 2 + below(most - 1);
        const int a = std::clamp(rank / grain - below(length + 1), 0, num_blocks - length);
        return {a, length};
    }
    std::vector<RankMove> turn_run(int rank, int grain) {
        const auto run = pick_run(rank, grain);
        const int length = run.second;
        return permute(run.first * grain, length * grain,
                       [&](int i) { return (length - 1 - i / grain) * grain + i % grain; });
    }
    std::vector<RankMove> shift_run(int rank, int grain) {
        const auto run = pick_run(rank, grain);
        const int length = run.second;
        const int by = (1 + below(length - 1)) * grain;
        return permute(run.first * grain, length * grain,
                       [&](int i) { return (i + by) % (length * grain); });
    }

    Evaluator& evaluator_;
    const DeviceTable& devices_;
    const SearchLimits& limits_;
    Rng rng_;
    int num_ranks_;
    std::vector<int> grains_;
    std::vector<int> first_of_node_;
    std::vector<int> rank_on_;  // by device; -1: free
    // Flows at the bottleneck of each phase, computed on demand.
    std::vector<std::optional<std::vector<Flow>>> bottlenecks_;
    PlacementScore score_;
    double crowding_ = 0;
    SolverResult best_;
    std::int64_t evaluations_ = 0;
    bool cancelled_ = false;
};

}  // namespace

SolverResult search_locally(const PlacementProblem& problem, Evaluator& evaluator,
                            const DeviceTable& devices, const SearchLimits& limits) {
    return LocalSearch(problem, evaluator, devices, limits).run();
}

}  // namespace rm
