#include "engine/model/linears/linears.h"

namespace rm {
Fp8Scratch::Fp8Scratch(Device& device, std::int64_t tokens, std::int64_t columns, Fp8 format,
                       WeightForm form)
    : format_(format), scalars_(device, MemoryKind::activations, DType::f32, {kNumScalars}) {
    const auto make = [&](Side& side, std::int64_t height, std::int64_t width) {
        side.codes = Tensor(device, MemoryKind::activations, DType::u8, {height * width});
        if (form != WeightForm::fp8_blocks) return;
        side.scales =
            Tensor(device, MemoryKind::activations, DType::f32, {height * fp8_blocks(width)});
    };
    make(rows_, tokens, columns);
    make(columns_, columns, padded_tokens(tokens));
}

Fp8Matrix Fp8Scratch::matrix(const Side& side, std::int64_t scalar, std::int64_t rows,
                             std::int64_t columns) const {
    const auto part = [](const Tensor& memory, std::int64_t height, std::int64_t width) {
        return memory->rows(0, height * width).reshaped({height, width});
    };
    const bool blocks = !side.scales->empty();
    return {part(side.codes, rows, columns),
            blocks ? part(side.scales, rows, fp8_blocks(columns)) : scalars_->rows(scalar, 1),
            format_};
}
Fp8Matrix Fp8Scratch::rows(std::int64_t T, std::int64_t C) const {
    return matrix(rows_, kRows, T, C);
}
Fp8Matrix Fp8Scratch::columns(std::int64_t T, std::int64_t C) const {
    return matrix(columns_, kColumns, C, padded_tokens(T));
}

namespace {

enum class Orientations { rows, columns, both };

LinearOperand operand_of(const Ops& run, const TensorView& x, const LayerWeights& layer,
                         Fp8Site site, const Fp8Scratch& scratch, Orientations wanted) {
    LinearOperand operand{x, {}, {}};
    if (layer.fp8 == nullptr) return operand;
    const Fp8Scaling& scaling = (*layer.fp8)[usize(site)];
    const std::int64_t T = x.dim(0), C = x.dim(1);
    if (wanted != Orientations::columns) operand.rows = scratch.rows(T, C);
    if (wanted != Orientations::rows) operand.columns = scratch.columns(T, C);
    if (scaling.scaling == Scaling::given)
        operand.rows.scale = operand.columns.scale = scaling.scale;
    // The forward pass has seen the effect on what a product took.
    const TensorView effect = wanted == Orientations::columns ? TensorView() : scaling.effect;
    run(Quantize{x, operand.rows, operand.columns, scratch.amax(), scaling.scaling, scaling.largest,
                 effect});
    return operand;
}

}  // namespace

LinearOperand forward_operand(const Ops& run, const TensorView& x, const LayerWeights& layer,
                              Fp8Site site, const Fp8Scratch& scratch) {
    return operand_of(run, x, layer, site, scratch, Orientations::rows);
}
LinearOperand gradient_operand(const Ops& run, const TensorView& d_y, const LayerWeights& layer,
                               Fp8Site site, const Fp8Scratch& scratch) {
    return operand_of(run, d_y, layer, site, scratch, Orientations::both);
}
LinearOperand taken_operand(const Ops& run, const TensorView& x, const LayerWeights& layer,
                            Fp8Site site, const Fp8Scratch& scratch) {
    return operand_of(run, x, layer, site, scratch, Orientations::columns);
}

void linear(const Ops& run, const LinearOperand& x, const PreparedWeight* weight,
            const TensorView& y, Into into) {
    if (x.fp8()) return run(Fp8LinearFwd{x.rows, weight, y, into});
    run(LinearFwd{x.x, weight, y, into});
}

void linear_backward(const Ops& run, const LinearOperand& d_y, const LinearOperand& x,
                     const LinearWeight& weight, const TensorView& d_x, Into into) {
    if (d_y.fp8()) {
        run(Fp8LinearBwdWeight{d_y.columns, x.columns, weight.grad});
        return run(Fp8LinearBwdInput{d_y.rows, weight.prepared, d_x, into});
    }
    run(LinearBwdWeight{d_y.x, x.x, weight.grad});
    run(LinearBwdInput{d_y.x, weight.prepared, d_x, into});
}

}  // namespace rm
