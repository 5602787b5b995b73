#pragma once

#include <vector>

#include "engine/model/activations.h"
#include "engine/model/tensor_tiles.h"
#include "engine/model/weights.h"
#include "engine/windows/windows.h"
#include "spec/model_preset.h"

namespace rm {

// The head works with these; it borrows them for as long as it lives.
struct HeadContext {
    const ModelConfig& model;
    const RankLayout& layout;
    const RankShapes& shapes;
    Weights& weights;
    StepMemory& memory;
    Scratch& scratch;
    TensorTiles& tiles;
    const Ops& ops;
    const Tensor& targets;  // (T) i32
};

// The loss of this rank's tokens and, with d_x, the gradients of scale * loss.
struct LossWork {
    double scale = 1;
    TensorView loss_sum;        // (1) f64, summed into
    TokenStore* d_x = nullptr;  // (Ts, C) compute, overwritten
};

// Final norm, head and loss, tile by tile. A head of several blocks passes by twice: first each
// block adds its statistics of every token's softmax, and these give the loss; then the blocks come
// back in the opposite order, form their logits again, and add their gradients. Between the two
// only numbers of each token are kept, and a sum of (Ts, C) while the gradients are added.
class Head {
public:
    explicit Head(const HeadContext& context);

    // x (Ts, C) compute: out of the last layer.
    void queue(TokenStore x, const LossWork& work);

private:
    // A tile's rows of what one block adds to the gradients.
    struct GradientTile {
        TokenRange range;
        TensorView x;         // (tile / tensor, C) compute
        TensorView lse;       // (tile, 1) f64
        TensorView d_normed;  // (tile / tensor, C) accum
        TensorView d_x;       // (tile / tensor, C) compute; empty: more blocks follow
        Into into = Into::add;
    };

    Windows windows() const;
    int last_layer() const;  // its unit
    TensorView normed(const TokenRange& tile, const TensorView& x) const;
    void queue_norm_grad(const TensorView& d_normed, const TensorView& x,
                         const TensorView& d_x) const;

    void queue_whole(TokenStore& x, const LossWork& work);
    void queue_tile(const HeadRows& head, const TokenRange& tile, const TensorView& x,
                    const LossWork& work, const TensorView& d_x);
    TensorView queue_cut_tile(const HeadRows& head, const TensorView& normed,
                              const TokenRange& tile, const LossWork& work);

    void queue_blocks(TokenStore& x, const LossWork& work);
    void queue_statistics(int block, int next, TokenStore& x, TokenStore& statistics);
    void queue_loss(std::vector<TokenStore>& statistics, TokenStore* lse,
                    const TensorView& loss_sum);
    void queue_gradients(int block, TokenStore& x, TokenStore& lse, TokenStore& d_normed,
                         const LossWork& work);
    void queue_gradient_tile(const HeadRows& head, const GradientTile& tile, double scale);

    HeadContext context_;
    int num_blocks_;
    Tensor statistics_;  // (tensor, blocks, tile, 3) f64: of a head in several parts
    Tensor lse_;         // (tile) f64; likewise
};

}  // namespace rm
