#include <algorithm>

#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/rope.cuh"

namespace rm::cuda {
namespace {

using Table = device::RopeTableFill;

// As many runs as one launch takes by value.
void launch_table(const RopeTable& op, std::span<const Run> runs, std::int64_t first_token,
                  const Launch& where) {
    const std::int64_t half = op.cos.dim(1);
    Table::Params params{.cos = op.cos.as<float>() + first_token * half,
                         .sin = op.sin.as<float>() + first_token * half,
                         .num_tokens = num_tokens(runs),
                         .scale = op.scale,
                         .half = static_cast<int>(half),
                         .num_runs = static_cast<int>(runs.size())};
    std::copy(op.inv_freq.begin(), op.inv_freq.end(), params.inv_freq);
    std::int64_t token = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        params.runs[i] = {.token = token, .position = runs[i].first};
        token += runs[i].length;
    }
    const std::int64_t angles = params.num_tokens * half;
    launch<Table>(where, pick_grid<Table>(angles, Table::kThreads, where.profile), params);
}

}  // namespace

void run(const RopeTable& op, const Launch& where) {
    RM_CHECK(op.inv_freq.size() <= Table::kMaxFrequencies,
             "rope_table: {} frequencies; the device takes {} (head dim {})", op.inv_freq.size(),
             Table::kMaxFrequencies, 2 * Table::kMaxFrequencies);
    std::int64_t first_token = 0;
    for (std::size_t i = 0; i < op.runs.size(); i += Table::kMaxRuns) {
        const auto runs =
            op.runs.subspan(i, std::min<std::size_t>(Table::kMaxRuns, op.runs.size() - i));
        launch_table(op, runs, first_token, where);
        first_token += num_tokens(runs);
    }
}

void run(const RopeApply& op, const Launch& where) {
    const std::int64_t T = op.x.dim(0), H = op.x.dim(1), half = op.cos.dim(1);
    const device::RopeRotateParams params{.x = op.x.as<std::uint16_t>(),
                                          .cos = op.cos.as<float>(),
                                          .sin = op.sin.as<float>(),
                                          .T = T,
                                          .H = H,
                                          .half = half,
                                          .sign = op.rotation == Rotation::forward ? 1.0f : -1.0f};
    const auto go = [&]<int kPairs>() {
        using Kernel = device::RopeRotate<kPairs>;
        const auto grid = pick_grid<Kernel>(T * H * half / kPairs, Kernel::kThreads, where.profile);
        launch<Kernel>(where, grid, params);
    };
    if (rows_are_aligned(half, {op.x, op.cos, op.sin})) return go.template operator()<8>();
    go.template operator()<1>();
}

}  // namespace rm::cuda
