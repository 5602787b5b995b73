#include "kernels/cuda/fp8/blocks.h"
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

template <typename Op>
Bytes bytes_for(const Op& op, const MatMul& matmul) {
    return op.blocks() ? Bytes{} : matmul.workspace_bytes(product_of(op));
}
template <typename Op>
void multiply(const Op& op, const Launch& where) {
    if (op.blocks()) return multiply_blocks(product_of(op), where);
    where.matmul->run(product_of(op), where.workspace, where);
}

}  // namespace

DeviceFp8Weight::DeviceFp8Weight(Device& device, std::int64_t num_rows, std::int64_t num_columns,
                                 WeightForm form)
    : form_(form),
      plain_(device, MemoryKind::weights, DType::u8, {num_rows, num_columns}),
      turned_(device, MemoryKind::weights, DType::u8, {num_columns, num_rows}),
      scalars_(device, MemoryKind::weights, DType::f32,
               {num_scalars(num_rows, num_columns, form)}) {
    for (const std::int64_t size : {num_rows, num_columns})
        check_fp8_columns("prepare", size);
}

std::int64_t DeviceFp8Weight::num_scalars(std::int64_t num_rows, std::int64_t num_columns,
                                          WeightForm form) {
    if (form == WeightForm::fp8) return kNumScalars;
    return 2 * fp8_blocks(num_rows) * fp8_blocks(num_columns);
}

Bytes DeviceFp8Weight::bytes(std::int64_t num_rows, std::int64_t num_columns, WeightForm form) {
    return {2 * num_rows * num_columns +
            num_scalars(num_rows, num_columns, form) * size_of(DType::f32)};
}

TensorView DeviceFp8Weight::block_scales(int turned) const {
    const std::int64_t down = fp8_blocks(num_rows()), across = fp8_blocks(num_columns());
    const TensorView scales = scalars_->rows(turned * down * across, down * across);
    return turned == 0 ? scales.reshaped({down, across}) : scales.reshaped({across, down});
}

void prepare(const TensorView& weight, const DeviceFp8Weight& prepared, const Launch& where) {
    const Fp8Matrix plain = prepared.plain();
    if (prepared.blocks()) return round_weight_blocks(weight, plain, prepared.turned(), where);
    run(FillZero{prepared.amax()}, where);
    run(Fp8Amax{.x = weight, .amax = prepared.amax()}, where);
    run(Fp8Scale{.amax = prepared.amax(), .scale = plain.scale}, where);
    run(Fp8Cast{.x = weight,
                .to = {.rows = plain, .columns = prepared.turned(), .amax = prepared.amax()}},
        where);
}

void prepare(const Fp8Matrix& weight, const DeviceFp8Weight& prepared, const Launch& where) {
    const Fp8Matrix plain = prepared.plain();
    run(Copy{.from = weight.scale, .to = plain.scale}, where);
    run(Fp8TurnCodes{.from = weight,
                     .to = {.rows = plain, .columns = prepared.turned(), .amax = prepared.amax()}},
        where);
}

Bytes workspace_bytes(const Fp8LinearFwd& op, const MatMul& matmul) {
    return bytes_for(op, matmul);
}
Bytes workspace_bytes(const Fp8LinearBwdInput& op, const MatMul& matmul) {
    return bytes_for(op, matmul);
}
Bytes workspace_bytes(const Fp8LinearBwdWeight& op, const MatMul& matmul) {
    return bytes_for(op, matmul);
}

void run(const Fp8LinearFwd& op, const Launch& where) {
    multiply(op, where);
}
void run(const Fp8LinearBwdInput& op, const Launch& where) {
    multiply(op, where);
}
void run(const Fp8LinearBwdWeight& op, const Launch& where) {
    multiply(op, where);
}

}  // namespace rm::cuda
