#include "kernels/cuda/cross_entropy_pick.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/cross_entropy.cuh"
#include "kernels/scratch.h"

namespace rm::cuda {
namespace {

static_assert(device::CrossEntropy<1>::kIgnore == kIgnoreTarget);

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

// How the op uses its workspace.
struct Layout {
    Layout(const LinearCrossEntropy& op, const MatMul& matmul, Scratch& scratch) {
        const std::int64_t V = op.head->num_rows(), C = op.head->num_columns();
        rows = pick_loss_rows(op.x.dim(0), V);
        logits = {scratch.floats(rows * V), DType::f32, {rows, V}};
        losses = scratch.doubles(rows);
        const TensorView tokens(nullptr, DType::bf16, {rows, C});
        const Chunk chunk{.x = tokens,
                          .head = weight_of(op.head).view(),
                          .logits = logits,
                          .d_x = tokens,
                          .d_head = {nullptr, DType::f32, {V, C}}};
        Bytes most = matmul.workspace_bytes(chunk.make_logits());
        most = std::max(most, matmul.workspace_bytes(chunk.make_d_x()));
        most = std::max(most, matmul.workspace_bytes(chunk.add_d_head()));
        products = scratch.workspace(most);
    }

    std::int64_t rows = 0;
    TensorView logits;         // (rows, V) f32
    double* losses = nullptr;  // (rows)
    Workspace products;
};

// Losses and gradients of `rows` rows of logits.
void launch_rows(const LinearCrossEntropy& op, const TensorView& logits,
                 const std::int32_t* targets, double* losses, const Launch& where) {
    const device::CrossEntropyParams params{.logits = logits.as<float>(),
                                            .targets = targets,
                                            .losses = losses,
                                            .V = logits.dim(1),
                                            .scale = static_cast<float>(op.scale),
                                            .gradients = !op.d_x.empty()};
    if (rows_are_aligned(params.V, {logits})) {
        launch<device::CrossEntropy<8>>(where, one_block_each(logits.dim(0)), params);
    } else {
        launch<device::CrossEntropy<1>>(where, one_block_each(logits.dim(0)), params);
    }
    launch<device::AddLosses>(where, {},
                              {.losses = losses,
                               .rows = static_cast<int>(logits.dim(0)),
                               .loss_sum = op.loss_sum.as<double>()});
}

}  // namespace

Bytes workspace_bytes(const LinearCrossEntropy& op, const MatMul& matmul) {
    Scratch scratch;
    const Layout layout(op, matmul, scratch);
    return scratch.used();
}

void run(const LinearCrossEntropy& op, MatMul& matmul, Workspace workspace, const Launch& where) {
    Scratch scratch(workspace);
    const Layout layout(op, matmul, scratch);
    const std::int64_t T = op.x.dim(0);
    const bool backward = !op.d_x.empty();
    for (std::int64_t first = 0; first < T; first += layout.rows) {
        const std::int64_t rows = std::min(layout.rows, T - first);
        const Chunk chunk{.x = op.x.rows(first, rows),
                          .head = weight_of(op.head).view(),
                          .logits = layout.logits.rows(0, rows),
                          .d_x = backward ? op.d_x.rows(first, rows) : TensorView(),
                          .d_head = op.d_head};
        matmul.run(chunk.make_logits(), layout.products, where);
        launch_rows(op, chunk.logits, op.targets.as<std::int32_t>() + first, layout.losses, where);
        if (!backward) continue;
        matmul.run(chunk.make_d_x(), layout.products, where);
        matmul.run(chunk.add_d_head(), layout.products, where);
    }
}

}  // namespace rm::cuda
