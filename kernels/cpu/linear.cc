#include <algorithm>

#include "kernels/cpu/ops.h"

namespace rm::cpu {

const CpuPreparedWeight& weight_of(const PreparedWeight* prepared) {
    const auto* own = dynamic_cast<const CpuPreparedWeight*>(prepared);
    RM_CHECK(own != nullptr, "cpu was given a prepared weight of another backend, or none");
    return *own;
}

void prepare(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context) {
    const auto* data = weight.as<float>();
    const std::int64_t K = prepared.num_columns();
    PackedMatrix& forward = prepared.forward();
    PackedMatrix& backward = prepared.backward();
    const std::int64_t num_forward = forward.num_pack_items();
    const auto pack = [&](std::int64_t item, int) {
        if (item < num_forward) {
            forward.pack({.data = data, .k_stride = 1, .n_stride = K}, item);
        } else {
            backward.pack({.data = data, .k_stride = K, .n_stride = 1}, item - num_forward);
        }
    };
    context.workers.for_items(num_forward + backward.num_pack_items(), pack);
}

Product::Product(const PackedMatrix& matrix, int num_workers, Scratch& scratch)
    : matrix_(matrix),
      worker_floats_((matrix.scratch_floats() + 15) / 16 * 16),
      workers_(scratch.floats(worker_floats_ * num_workers)),
      padded_x_(scratch.floats(kGemmRows * matrix.K())),
      padded_y_(scratch.floats(kGemmRows * matrix.N())) {}

void Product::rows(const float* x, float* y, std::int64_t count, Into into, int worker) const {
    float* scratch = workers_ + worker * worker_floats_;
    if (count == kGemmRows) return matrix_.multiply(x, y, into, scratch);
    const std::int64_t num_x = count * matrix_.K(), num_y = count * matrix_.N();
    std::fill(std::copy_n(x, num_x, padded_x_), padded_x_ + kGemmRows * matrix_.K(), 0.0f);
    if (into == Into::add) {
        std::fill(std::copy_n(y, num_y, padded_y_), padded_y_ + kGemmRows * matrix_.N(), 0.0f);
    }
    matrix_.multiply(padded_x_, padded_y_, into, scratch);
    std::copy_n(padded_y_, num_y, y);
}

WeightGradient::WeightGradient(const Context& context, Scratch& scratch)
    : workers_(scratch.floats(context.loops.outer_scratch * context.workers.count())) {}

// Work is cut along the output, so each element is summed by one thread, tokens ascending.
void WeightGradient::accumulate(const Operands& of, Context& context) const {
    constexpr std::int64_t kColumns = 256;
    const std::int64_t across = (of.K + kColumns - 1) / kColumns;
    const std::int64_t down = (of.N + kTile - 1) / kTile;
    context.workers.for_items(down * across, [&](std::int64_t item, int worker) {
        const std::int64_t n = item / across * kTile;
        const std::int64_t k = item % across * kColumns;
        context.loops.outer_product({.rows = std::min(kTile, of.N - n),
                                     .N = std::min(kColumns, of.K - k),
                                     .depth = of.T,
                                     .a = of.d_y + n,
                                     .a_stride = of.N,
                                     .b = of.x + k,
                                     .b_stride = of.K,
                                     .out = of.d_w + n * of.K + k,
                                     .out_stride = of.K,
                                     .scratch = workers_ + worker * context.loops.outer_scratch});
    });
}

namespace {

// y (T, N) = or += x (T, K) B
void product(const PackedMatrix& matrix, const TensorView& x, const TensorView& y, Into into,
             Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Product product(matrix, context.workers.count(), scratch);
    const float* from = x.as<float>();
    float* to = y.as<float>();
    const auto block = [&](std::int64_t first, std::int64_t count, int worker) {
        product.rows(from + first * matrix.K(), to + first * matrix.N(), count, into, worker);
    };
    context.workers.for_blocks(x.dim(0), kGemmRows, block);
}

Bytes product_bytes(const PackedMatrix& matrix, const Context& context) {
    Scratch scratch;
    const Product product(matrix, context.workers.count(), scratch);
    return scratch.used();
}

// The shape of a weight, for Dims.
TensorView shape_of(const CpuPreparedWeight& weight) {
    return {nullptr, DType::f32, {weight.num_rows(), weight.num_columns()}};
}

}  // namespace

void check(const LinearFwd& op) {
    Dims dims("linear_fwd");
    dims.bind<"N K">(shape_of(weight_of(op.weight)), "weight");
    dims.bind<"T K">(op.x, "x").bind<"T N">(op.y, "y");
}
Bytes scratch_bytes(const LinearFwd& op, const Context& context) {
    return product_bytes(weight_of(op.weight).forward(), context);
}
void run(const LinearFwd& op, Workspace workspace, Context& context) {
    product(weight_of(op.weight).forward(), op.x, op.y, op.into, workspace, context);
}

void check(const LinearBwdInput& op) {
    Dims dims("linear_bwd_input");
    dims.bind<"N K">(shape_of(weight_of(op.weight)), "weight");
    dims.bind<"T N">(op.d_y, "d_y").bind<"T K">(op.d_x, "d_x");
}
Bytes scratch_bytes(const LinearBwdInput& op, const Context& context) {
    return product_bytes(weight_of(op.weight).backward(), context);
}
void run(const LinearBwdInput& op, Workspace workspace, Context& context) {
    product(weight_of(op.weight).backward(), op.d_y, op.d_x, op.into, workspace, context);
}

void check(const LinearBwdWeight& op) {
    Dims dims("linear_bwd_weight");
    dims.bind<"T N">(op.d_y, "d_y").bind<"T K">(op.x, "x").bind<"N K">(op.d_weight, "d_weight");
}
Bytes scratch_bytes(const LinearBwdWeight&, const Context& context) {
    Scratch scratch;
    const WeightGradient gradient(context, scratch);
    return scratch.used();
}
void run(const LinearBwdWeight& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const WeightGradient gradient(context, scratch);
    gradient.accumulate({.d_y = op.d_y.as<float>(),
                         .x = op.x.as<float>(),
                         .d_w = op.d_weight.as<float>(),
                         .T = op.x.dim(0),
                         .N = op.d_y.dim(1),
                         .K = op.x.dim(1)},
                        context);
}

}  // namespace rm::cpu
