#include <algorithm>

#include "kernels/cpu/ops.h"

namespace rm::cpu {
namespace {

simd::Type type_of(const TensorView& tensor) {
    return tensor.dtype() == DType::bf16 ? simd::Type::bf16 : simd::Type::f32;
}

}  // namespace

CpuPreparedWeight::CpuPreparedWeight(std::int64_t num_rows, std::int64_t num_columns,
                                     WeightForm form, const Context& context, Device& device)
    : num_rows_(num_rows),
      num_columns_(num_columns),
      form_(form),
      forward_(context.gemm->make(num_columns, num_rows, device)),
      backward_(context.gemm->make(num_rows, num_columns, device)) {
    if (form != WeightForm::compute)
        rounded_ = Tensor(device, MemoryKind::weights, context.compute, {num_rows, num_columns});
}

Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns, WeightForm form,
                     const Context& context) {
    Bytes bytes = context.gemm->packed_bytes(num_columns, num_rows) +
                  context.gemm->packed_bytes(num_rows, num_columns);
    if (form != WeightForm::compute) bytes += {num_rows * num_columns * size_of(context.compute)};
    return bytes;
}

namespace {

void pack(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context) {
    const std::int64_t K = prepared.num_columns();
    PackedMatrix& forward = prepared.forward();
    PackedMatrix& backward = prepared.backward();
    const std::int64_t num_forward = forward.num_pack_items();
    const auto pack = [&](std::int64_t item, int) {
        const bool is_forward = item < num_forward;
        PackedMatrix& matrix = is_forward ? forward : backward;
        matrix.pack({.data = weight.data(),
                     .type = type_of(weight),
                     .k_stride = is_forward ? 1 : K,
                     .n_stride = is_forward ? K : 1},
                    is_forward ? item : item - num_forward);
    };
    context.workers.for_items(num_forward + backward.num_pack_items(), pack);
}

}  // namespace

void prepare(const TensorView& given, const CpuPreparedWeight& prepared, Context& context) {
    if (prepared.form() == WeightForm::compute) return pack(given, prepared, context);
    round_weight(given, prepared, context);
    pack(prepared.rounded(), prepared, context);
}

void prepare(const Fp8Matrix& codes, const CpuPreparedWeight& prepared, Context& context) {
    widen(codes, prepared.rounded(), context);
    pack(prepared.rounded(), prepared, context);
}

namespace {

void* element(const TensorView& tensor, std::int64_t i) {
    return static_cast<std::byte*>(tensor.data()) + i * size_of(tensor.dtype());
}

}  // namespace

Product::Product(const PackedMatrix& matrix, const Workers& workers, Scratch& scratch)
    : matrix_(matrix),
      worker_floats_((matrix.scratch_floats() + 15) / 16 * 16),
      workers_(scratch.floats(worker_floats_ * workers.count())) {}

void Product::run(const TensorView& x, const TensorView& y, Into into, Context& context) const {
    const std::int64_t T = x.dim(0), K = matrix_.K(), N = matrix_.N();
    const ProductCut cut = matrix_.cut(T, context.workers.count());
    const std::int64_t down = cut.num_down(T);
    // Neighbouring items share columns: those of B that are packed.
    context.workers.for_items(down * cut.num_across(N), [&](std::int64_t item, int worker) {
        const std::int64_t t = item % down * cut.rows, n = item / down * cut.columns;
        matrix_.multiply({.rows = std::min(cut.rows, T - t),
                          .first = n,
                          .columns = std::min(cut.columns, N - n),
                          .x = element(x, t * K),
                          .x_stride = K,
                          .y = element(y, t * N),
                          .y_stride = N,
                          .y_type = type_of(y),
                          .add = into == Into::add,
                          .scratch = workers_ + worker * worker_floats_});
    });
}

WeightGradient::WeightGradient(const Context& context, Scratch& scratch)
    : workers_(scratch.floats(context.products.scratch * context.workers.count())) {}

// Work is cut along the output, so each element is summed by one thread.
void WeightGradient::run(const TensorView& d_y, const TensorView& x, const TensorView& d_w,
                         Context& context) const {
    const std::int64_t N = d_w.dim(0), K = d_w.dim(1);
    constexpr ProductCut kLargest{simd::kProductRows, 4 * simd::kProductColumns};
    const ProductCut cut = cut_product(N, K, kLargest, context.workers.count());
    const std::int64_t across = cut.num_across(K);
    context.workers.for_items(cut.num_down(N) * across, [&](std::int64_t item, int worker) {
        const std::int64_t n = item / across * cut.rows, k = item % across * cut.columns;
        context.products.columns({.rows = std::min(cut.rows, N - n),
                                  .columns = std::min(cut.columns, K - k),
                                  .depth = x.dim(0),
                                  .a = element(d_y, n),
                                  .a_stride = N,
                                  .b = element(x, k),
                                  .b_stride = K,
                                  .out = d_w.as<float>() + n * K + k,
                                  .out_stride = K,
                                  .scratch = workers_ + worker * context.products.scratch});
    });
}

namespace {

Bytes product_bytes(const PackedMatrix& matrix, const Context& context) {
    Scratch scratch;
    const Product product(matrix, context.workers, scratch);
    return scratch.used();
}

}  // namespace

Bytes scratch_bytes(const LinearFwd& op, const Context& context) {
    return product_bytes(weight_of(op.weight).forward(), context);
}
void run(const LinearFwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Product product(weight_of(op.weight).forward(), context.workers, scratch);
    product.run(op.x, op.y, op.into, context);
}

Bytes scratch_bytes(const LinearBwdInput& op, const Context& context) {
    return product_bytes(weight_of(op.weight).backward(), context);
}
void run(const LinearBwdInput& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Product product(weight_of(op.weight).backward(), context.workers, scratch);
    product.run(op.d_y, op.d_x, op.into, context);
}

Bytes scratch_bytes(const LinearBwdWeight&, const Context& context) {
    Scratch scratch;
    const WeightGradient gradient(context, scratch);
    return scratch.used();
}
void run(const LinearBwdWeight& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const WeightGradient gradient(context, scratch);
    gradient.run(op.d_y, op.x, op.d_weight, context);
}

}  // namespace rm::cpu
