#include <type_traits>

#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/head.cuh"
#include "kernels/scratch.h"

namespace rm::cuda {
namespace {

static_assert(device::kIgnore == kIgnoreTarget);

// Some rows, whose logits exist at once. Their gradients lie in the logits' memory, in bf16, one
// row in the first half of each row.
struct Chunk {
    TensorView x;       // (rows, C) bf16
    TensorView head;    // (V, C) bf16
    TensorView logits;  // (rows, V) f32
    TensorView d_x;     // (rows, C) bf16
    TensorView d_head;  // (V, C) f32

    MatrixProduct make_logits() const {
        return {.a = x, .b = head, .b_stored = Stored::transposed, .out = logits};
    }
    MatrixProduct make_d_x() const {
        return {.a = gradients(), .b = head, .out = d_x, .a_stride = stride()};
    }
    MatrixProduct add_d_head() const {
        return {.a = gradients(),
                .b = x,
                .a_stored = Stored::transposed,
                .out = d_head,
                .into = Into::add,
                .a_stride = stride()};
    }

private:
    TensorView gradients() const {
        return {logits.data(), DType::bf16, {logits.dim(0), logits.dim(1)}};
    }
    std::int64_t stride() const { return 2 * logits.dim(1); }
};

// How an op over the head uses its workspace.
struct Layout {
    enum class Products { logits, all };

    Layout(const TensorView& x, const PreparedWeight* prepared, Products needed,
           const MatMul& matmul, Scratch& scratch)
        : head(weight_of(prepared).view()) {
        const std::int64_t V = head.dim(0), C = head.dim(1);
        rows = pick_loss_rows(x.dim(0), V);
        logits = {scratch.floats(rows * V), DType::f32, {rows, V}};
        const TensorView tokens(nullptr, DType::bf16, {rows, C});
        const Chunk chunk{.x = tokens,
                          .head = head,
                          .logits = logits,
                          .d_x = tokens,
                          .d_head = {nullptr, DType::f32, {V, C}}};
        Bytes most = matmul.workspace_bytes(chunk.make_logits());
        if (needed == Products::all) {
            most = std::max(most, matmul.workspace_bytes(chunk.make_d_x()));
            most = std::max(most, matmul.workspace_bytes(chunk.add_d_head()));
        }
        products = scratch.workspace(most);
    }

    // fn(first, chunk) for the rows of x that exist at once, in order, when their logits have been
    // queued.
    template <typename Fn>
    void for_chunks(const TensorView& x, const TensorView& d_x, const TensorView& d_head,
                    const Launch& where, const Fn& fn) const {
        for (std::int64_t first = 0; first < x.dim(0); first += rows) {
            const std::int64_t count = std::min(rows, x.dim(0) - first);
            const Chunk chunk{.x = x.rows(first, count),
                              .head = head,
                              .logits = logits.rows(0, count),
                              .d_x = d_x.empty() ? TensorView() : d_x.rows(first, count),
                              .d_head = d_head};
            where.matmul->run(chunk.make_logits(), products, where);
            fn(first, chunk);
        }
    }
    // When the gradients have taken the place of the logits.
    void spread(const Chunk& chunk, const Launch& where) const {
        where.matmul->run(chunk.make_d_x(), products, where);
        where.matmul->run(chunk.add_d_head(), products, where);
    }

    TensorView head;
    std::int64_t rows = 0;
    TensorView logits;  // (rows, V) f32
    Workspace products;
};

template <typename Op>
Layout layout_of(const Op& op, const MatMul& matmul, Scratch& scratch) {
    constexpr bool kHasGradients = requires {
        op.d_x;
    };
    return {op.x, op.head, kHasGradients ? Layout::Products::all : Layout::Products::logits, matmul,
            scratch};
}

template <typename Op>
Bytes bytes_of(const Op& op, const MatMul& matmul) {
    Scratch scratch;
    layout_of(op, matmul, scratch);
    return scratch.used();
}

// A kernel with a block for each row of logits, as wide as their addresses allow.
template <template <int> typename K>
void launch_rows(const TensorView& logits, const typename K<1>::Params& params,
                 const Launch& where) {
    if (rows_are_aligned(logits.dim(1), {logits})) {
        launch<K<8>>(where, one_block_each(logits.dim(0)), params);
    } else {
        launch<K<1>>(where, one_block_each(logits.dim(0)), params);
    }
}

// loss_sum (1) f64 += losses (T) f64
void add_losses(const TensorView& losses, const TensorView& loss_sum, const Launch& where) {
    using Add = device::AddLosses;
    for (std::int64_t first = 0; first < losses.dim(0); first += Add::kMaxRows) {
        const std::int64_t rows = std::min<std::int64_t>(Add::kMaxRows, losses.dim(0) - first);
        launch<Add>(where, {},
                    {.losses = losses.as<double>() + first,
                     .rows = static_cast<int>(rows),
                     .loss_sum = loss_sum.as<double>()});
    }
}

device::HeadPart part_of(const RowShare& rows, const TensorView& head) {
    const VocabularyPart part(rows, head.dim(0));
    return {.V = head.dim(0), .first = part.first(), .total = part.size()};
}

}  // namespace

Bytes workspace_bytes(const LinearCrossEntropy& op, const MatMul& matmul) {
    return bytes_of(op, matmul);
}
Bytes workspace_bytes(const HeadStatistics& op, const MatMul& matmul) {
    return bytes_of(op, matmul);
}
Bytes workspace_bytes(const HeadBwd& op, const MatMul& matmul) {
    return bytes_of(op, matmul);
}

void run(const LinearCrossEntropy& op, const Launch& where) {
    Scratch scratch(where.workspace);
    const Layout layout = layout_of(op, *where.matmul, scratch);
    const bool backward = !op.d_x.empty();
    const auto finish = [&](std::int64_t first, const Chunk& chunk) {
        launch_rows<device::CrossEntropy>(chunk.logits,
                                          {.logits = chunk.logits.as<float>(),
                                           .targets = op.targets.as<std::int32_t>() + first,
                                           .losses = op.losses.as<double>() + first,
                                           .V = chunk.logits.dim(1),
                                           .scale = static_cast<float>(op.scale),
                                           .gradients = backward},
                                          where);
        add_losses(op.losses.rows(first, chunk.logits.dim(0)), op.loss_sum, where);
        if (backward) layout.spread(chunk, where);
    };
    layout.for_chunks(op.x, op.d_x, op.d_head, where, finish);
}

void run(const HeadStatistics& op, const Launch& where) {
    Scratch scratch(where.workspace);
    const Layout layout = layout_of(op, *where.matmul, scratch);
    const auto finish = [&](std::int64_t first, const Chunk& chunk) {
        launch_rows<device::HeadStatisticsOfRows>(
            chunk.logits,
            {.logits = chunk.logits.as<float>(),
             .targets = op.targets.as<std::int32_t>() + first,
             .statistics = op.statistics.as<double>() + 3 * first,
             .part = part_of(op.rows, layout.head)},
            where);
    };
    layout.for_chunks(op.x, {}, {}, where, finish);
}

void run(const CombineHeadStatistics& op, const Launch& where) {
    const std::int64_t T = op.parts.dim(1);
    using Losses = device::HeadLosses;
    launch<Losses>(where, pick_grid<Losses>(T, Losses::kThreads, where.profile),
                   {.parts = op.parts.as<double>(),
                    .targets = op.targets.as<std::int32_t>(),
                    .lse = op.lse.as<double>(),
                    .losses = op.losses.as<double>(),
                    .tokens = T,
                    .num_parts = static_cast<int>(op.parts.dim(0)),
                    .step = 3 * T});
    add_losses(op.losses, op.loss_sum, where);
}

void run(const HeadBwd& op, const Launch& where) {
    Scratch scratch(where.workspace);
    const Layout layout = layout_of(op, *where.matmul, scratch);
    const auto finish = [&](std::int64_t first, const Chunk& chunk) {
        launch_rows<device::HeadGradientOfRows>(chunk.logits,
                                                {.logits = chunk.logits.as<float>(),
                                                 .targets = op.targets.as<std::int32_t>() + first,
                                                 .lse = op.lse.as<double>() + first,
                                                 .part = part_of(op.rows, layout.head),
                                                 .scale = static_cast<float>(op.scale)},
                                                where);
        layout.spread(chunk, where);
    };
    layout.for_chunks(op.x, op.d_x, op.d_head, where, finish);
}

}  // namespace rm::cuda
