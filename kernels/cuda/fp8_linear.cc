#include "kernels/cuda/ops.h"
#include "kernels/cuda/quantize.h"

// Linear layers in FP8: one product each.
namespace rm::cuda {
namespace {

Fp8Product product_of(const Fp8LinearFwd& op) {
    return {.a = op.x, .b = fp8_weight_of(op.weight).plain(), .out = op.y, .into = op.into};
}

Fp8Product product_of(const Fp8LinearBwdInput& op) {
    return {.a = op.d_y, .b = fp8_weight_of(op.weight).turned(), .out = op.d_x, .into = op.into};
}

Fp8Product product_of(const Fp8LinearBwdWeight& op) {
    return {.a = op.d_y, .b = op.x, .out = op.d_weight, .into = Into::add};
}

}  // namespace

DeviceFp8Weight::DeviceFp8Weight(Device& device, std::int64_t num_rows, std::int64_t num_columns)
    : plain_(device, MemoryKind::weights, DType::u8, {num_rows, num_columns}),
      turned_(device, MemoryKind::weights, DType::u8, {num_columns, num_rows}),
      scalars_(device, MemoryKind::weights, DType::f32, {kNumScalars}) {
    for (const std::int64_t size : {num_rows, num_columns})
        check_fp8_columns("prepare", size);
}

Bytes DeviceFp8Weight::bytes(std::int64_t num_rows, std::int64_t num_columns) {
    return {2 * num_rows * num_columns + kNumScalars * size_of(DType::f32)};
}

void prepare(const TensorView& weight, const DeviceFp8Weight& prepared, const Launch& where) {
    const Fp8Matrix plain = prepared.plain();
    run(FillZero{prepared.amax()}, where);
    run(Fp8Amax{.x = weight, .amax = prepared.amax()}, where);
    run(Fp8Scale{.amax = prepared.amax(), .scale = plain.scale}, where);
    run(Fp8Cast{.x = weight,
                .to = {.rows = plain, .columns = prepared.turned(), .amax = prepared.amax()}},
        where);
}

Bytes workspace_bytes(const Fp8LinearFwd& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}
Bytes workspace_bytes(const Fp8LinearBwdInput& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}
Bytes workspace_bytes(const Fp8LinearBwdWeight& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}

void run(const Fp8LinearFwd& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}
void run(const Fp8LinearBwdInput& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}
void run(const Fp8LinearBwdWeight& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}

}  // namespace rm::cuda
