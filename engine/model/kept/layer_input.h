#pragma once

#include "engine/streams/ops.h"
#include "engine/windows/windows.h"

namespace rm {

// Whether the policy keeps the inputs of layers rounded (MemoryPolicy::keep_precision): on the
// host, in a type narrower than the compute type.
bool rounds_inputs(const MemoryPolicy& policy, DType compute);

// A layer's input, (Ts, C): as the layer before left it, or rounded, or both: then a forward pass
// reads the one and fills in the other.
struct LayerInput {
    LayerInput() = default;
    explicit LayerInput(TokenStore x_store) : x(std::move(x_store)) {}

    // Makes the store to round into, if the policy rounds.
    void make_rounded(StepMemory& memory, int layer);
    // Drops x if the rounded rows are there.
    void drop_unrounded();

    TokenStore x;        // compute
    TokenStore rounded;  // bf16; or i32, as PackRows leaves it
};

// Whether what flows from one layer to the next is the input that the next one keeps.
enum class Residual { kept, passing };
// (rows, hidden) compute: the residual stream between two layers. It lies where it is kept, or with
// the working tensors.
TokenStore residual_store(StepMemory& memory, BufferName name, Residual residual, std::int64_t rows,
                          std::int64_t hidden);

// A loop's windows on a layer's input, which give each tile's rows in the compute type: those of x,
// or, where only rounded ones are there, a copy in the tile's scratch.
class InputWindows {
public:
    InputWindows(Windows& all, LayerInput& input);

    // The tile's rows; fetch() fills them in where they are scratch.
    TensorView place(const Tile& tile, const Tensor& scratch) const;
    TensorView fetch(const Ops& run, const Tile& tile, const Tensor& scratch) const;

private:
    TileWindow x_, rounded_;
};

// Rounds rows of x to those that are kept.
void round_rows(const Ops& run, const TensorView& x, const TensorView& rounded);

}  // namespace rm
