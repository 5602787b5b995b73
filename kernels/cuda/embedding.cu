#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/embedding.cuh"

namespace rm::cuda {

namespace {

template <typename Table>
void embed(const EmbeddingFwd& op, const Launch& where) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    const VocabularyPart part(op.rows, op.table.dim(0));
    const device::EmbeddingForwardParams<Table> params{
        .tokens = op.tokens.as<std::int32_t>(),
        .table = op.table.as<Table>(),
        .x = op.x.as<std::uint16_t>(),
        .T = T,
        .C = C,
        .rows = {.first = part.first(), .rows = op.table.dim(0), .V = part.size()}};
    const auto go = [&]<int kWidth>() {
        using Kernel = device::EmbeddingForward<Table, kWidth>;
        launch<Kernel>(where, pick_grid<Kernel>(T * C / kWidth, Kernel::kThreads, where.profile),
                       params);
    };
    if (rows_are_aligned(C, {op.table, op.x})) return go.template operator()<8>();
    go.template operator()<1>();
}

}  // namespace

void run(const EmbeddingFwd& op, const Launch& where) {
    if (op.table.dtype() == DType::bf16) return embed<std::uint16_t>(op, where);
    embed<float>(op, where);
}

namespace {

// Segments one after the other: tokens of a later one are added behind those of an earlier.
template <int kWidth>
void run_segments(const EmbeddingBwd& op, const Launch& where) {
    using Kernel = device::EmbeddingBackward<kWidth>;
    const std::int64_t T = op.d_x.dim(0), C = op.d_x.dim(1);
    for (std::int64_t first = 0; first < T; first += Kernel::kMaxTokens) {
        const std::int64_t count = std::min<std::int64_t>(Kernel::kMaxTokens, T - first);
        const simt::Extent grid{.x = static_cast<int>(count),
                                .y = static_cast<int>(ceil_div(C, Kernel::kColumns))};
        launch<Kernel>(where, grid,
                       {.tokens = op.tokens.as<std::int32_t>() + first,
                        .d_x = op.d_x.as<std::uint16_t>() + first * C,
                        .d_table = op.d_table.as<float>(),
                        .num_tokens = static_cast<int>(count),
                        .C = C,
                        .first = op.rows.first,
                        .rows = op.d_table.dim(0)});
    }
}

}  // namespace

void run(const EmbeddingBwd& op, const Launch& where) {
    if (rows_are_aligned(op.d_x.dim(1), {op.d_x, op.d_table})) return run_segments<8>(op, where);
    run_segments<1>(op, where);
}

}  // namespace rm::cuda
