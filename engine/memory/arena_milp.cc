#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "engine/memory/arena_solver.h"

namespace rm {
namespace {

// Minimise the peak p over offsets x and choices z, in units of the sizes' common divisor:
//   x_i + s_i <= p                      for every block i
//   x_i + s_i <= x_j + U (1 - z_ij)     for every pair that lives together:
//   x_j + s_j <= x_i + U z_ij           i lies below j where z_ij = 1
// with U the best peak known. Columns: p, then x in the order of the blocks, then z.
class Programme {
public:
    Programme(std::span<const ArenaBlock> blocks, std::int64_t unit, const ArenaOutcome& best)
        : blocks_(blocks), unit_(unit), most_(scaled(best.plan.peak)), model_(Cbc_newModel()) {
        Cbc_addCol(model_, "p", scaled(best.bound), most_, 1.0, 0, 0, nullptr, nullptr);
        for (const ArenaBlock& block : blocks)
            Cbc_addCol(model_, "x", 0, most_ - scaled(block.size), 0, 0, 0, nullptr, nullptr);
        for (int i = 0; i < num_blocks(); ++i)
            add_block(i);
    }
    Programme(const Programme&) = delete;
    Programme& operator=(const Programme&) = delete;
    ~Programme() { Cbc_deleteModel(model_); }

    // `time` is wall time. True: there is a solution.
    bool solve(Seconds time) {
        Cbc_setLogLevel(model_, 0);
        Cbc_setParameter(model_, "timeMode", "elapsed");
        Cbc_setMaximumSeconds(model_, time.value);
        Cbc_solve(model_);
        return Cbc_numberSavedSolutions(model_) > 0 || Cbc_isProvenOptimal(model_) != 0;
    }
    bool is_optimal() const { return Cbc_isProvenOptimal(model_) != 0; }
    double peak() const { return Cbc_getObjValue(model_) * static_cast<double>(unit_); }

    // The solver's numbers are not exact: takes the order of its offsets and lays each block on the
    // earlier ones.
    ArenaPlan plan() const {
        const double* columns = Cbc_getColSolution(model_);
        std::vector<std::size_t> order(blocks_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
            return columns[1 + i] < columns[1 + j];
        });
        ArenaPlan plan{std::vector<Bytes>(blocks_.size()), {}};
        for (std::size_t k = 0; k < order.size(); ++k) {
            Bytes& offset = plan.offsets[order[k]];
            for (std::size_t below = 0; below < k; ++below) {
                const ArenaBlock& block = blocks_[order[below]];
                if (!live_together(block, blocks_[order[k]])) continue;
                offset = std::max(offset, plan.offsets[order[below]] + block.size);
            }
        }
        plan.peak = peak_of(blocks_, plan.offsets);
        return plan;
    }

private:
    int num_blocks() const { return static_cast<int>(blocks_.size()); }
    double scaled(Bytes bytes) const { return static_cast<double>(bytes.value / unit_); }
    double size(int i) const { return scaled(blocks_[usize(i)].size); }

    void add_block(int i) {
        add_row({1 + i, 0}, {1, -1}, -size(i));
        for (int j = 0; j < i; ++j) {
            const auto a = usize(i), b = usize(j);
            if (live_together(blocks_[a], blocks_[b])) add_pair(i, j);
        }
    }
    void add_pair(int i, int j) {
        Cbc_addCol(model_, "z", 0, 1, 0, 1, 0, nullptr, nullptr);
        const int z = Cbc_getNumCols(model_) - 1;
        add_row({1 + i, 1 + j, z}, {1, -1, most_}, most_ - size(i));
        add_row({1 + j, 1 + i, z}, {1, -1, -most_}, -size(j));
    }
    void add_row(std::vector<int> columns, std::vector<double> factors, double most) {
        Cbc_addRow(model_, "r", static_cast<int>(columns.size()), columns.data(), factors.data(),
                   'L', most);
    }

    std::span<const ArenaBlock> blocks_;
    std::int64_t unit_;
    double most_;
    Cbc_Model* model_;
};

// CBC's C interface keeps its parameters in static storage.
std::mutex cbc_mutex;

// Larger numbers lose units to the solver's tolerances.
constexpr std::int64_t kMostUnits = 1'000'000;

class MilpSolver final : public ArenaSolver {
public:
    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 const ArenaLimits& limits, ArenaOutcome& best) const override {
        std::int64_t unit = 0;
        for (const ArenaBlock& block : blocks)
            unit = std::gcd(unit, block.size.value);
        if (goal.is_settled(best) || best.plan.peak.value / unit > kMostUnits) return;
        const std::scoped_lock lock(cbc_mutex);
        if (limits.reached()) return;
        // The stacked plan's peak and the bound are multiples of the unit, as all sums of sizes
        // are.
        Programme programme(blocks, unit, best);
        if (!programme.solve(limits.deadline - limits.clock.mono())) return;
        ArenaPlan plan = programme.plan();
        const double deviation = static_cast<double>(plan.peak.value) - programme.peak();
        const bool exact = std::abs(deviation) < 0.5 * static_cast<double>(unit);
        if (plan.peak < best.plan.peak) best.plan = std::move(plan);
        if (exact && programme.is_optimal()) best.bound = best.plan.peak;
    }
};

}  // namespace

Result<std::unique_ptr<ArenaSolver>> make_milp_solver() {
    return std::unique_ptr<ArenaSolver>(std::make_unique<MilpSolver>());
}

}  // namespace rm
