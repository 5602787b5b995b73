#pragma once

#include <cstdint>

#include "engine/model/weights.h"
#include "engine/streams/ops.h"

// Linear layers over a tile, in the form of their weights: the compute type, or FP8. In FP8 an
// operand is rounded once for all products that take it, with scales for the tile or its blocks: a
// tile is arithmetic, so neither chunks nor windows nor recomputation change a code.
namespace rm {

// Codes of one operand of a tile at a time.
class Fp8Scratch {
public:
    Fp8Scratch() = default;
    // For as many as `tokens` rows of as many as `columns` numbers, with scales for `form`.
    Fp8Scratch(Device& device, std::int64_t tokens, std::int64_t columns, Fp8 format,
               WeightForm form);

    Fp8Matrix rows(std::int64_t T, std::int64_t C) const;     // (T, C)
    Fp8Matrix columns(std::int64_t T, std::int64_t C) const;  // (C, T padded)
    TensorView amax() const { return scalars_->rows(kAmax, 1); }

private:
    // f32, each at a multiple of 16 bytes.
    static constexpr std::int64_t kRows = 0, kColumns = 4, kAmax = 8, kNumScalars = 12;
    struct Side {
        Tensor codes, scales;  // u8; f32 of blocks, or empty
    };
    Fp8Matrix matrix(const Side& side, std::int64_t scalar, std::int64_t rows,
                     std::int64_t columns) const;

    Fp8 format_ = Fp8::e4m3;
    Side rows_, columns_;
    Tensor scalars_;
};

// The operand of a product: a tensor, or its codes.
struct LinearOperand {
    TensorView x;  // (T, C) compute
    Fp8Matrix rows, columns;

    bool fp8() const { return !rows.empty() || !columns.empty(); }
};

// Each queues what rounds x where the layer is in FP8, until the next call with this scratch: of a
// forward product, of a gradient that both backward products take, and of what the forward product
// took, for the gradient of the weight.
LinearOperand forward_operand(const Ops& run, const TensorView& x, const LayerWeights& layer,
                              Fp8Site site, const Fp8Scratch& scratch);
LinearOperand gradient_operand(const Ops& run, const TensorView& d_y, const LayerWeights& layer,
                               Fp8Site site, const Fp8Scratch& scratch);
LinearOperand taken_operand(const Ops& run, const TensorView& x, const LayerWeights& layer,
                            Fp8Site site, const Fp8Scratch& scratch);

// y = or += x W^T
void linear(const Ops& run, const LinearOperand& x, const PreparedWeight* weight,
            const TensorView& y, Into into = Into::overwrite);
// weight.grad += d_y^T x; d_x = or += d_y W
void linear_backward(const Ops& run, const LinearOperand& d_y, const LinearOperand& x,
                     const LinearWeight& weight, const TensorView& d_x,
                     Into into = Into::overwrite);

}  // namespace rm
