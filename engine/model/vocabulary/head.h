#pragma once

#include <vector>

#include "engine/model/tensor_tiles.h"
#include "engine/model/weights.h"

namespace rm {

// Borrowed for as long as the head lives.
struct HeadContext : TileContext {
    const RankShapes& shapes;
    Weights& weights;
    const Tensor& targets;  // (T) i32
};

// The loss of this rank's tokens and, with d_x, the gradients of scale * loss.
struct LossWork {
    double scale = 1;
    TensorView loss_sum;        // (1) f64, summed into
    TokenStore* d_x = nullptr;  // (Ts, C) compute, overwritten
    double* losses = nullptr;   // (T) of the host: each token's loss, in stream order; or null
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
    // logits (tensor, rows) compute: of the first token, each rank's rows of the head.
    void queue_logits(TokenStore x, const TensorView& logits);

private:
    // A tile's rows of what one block adds to the gradients.
    struct GradientRows {
        TensorView x;         // (tile / tensor, C) compute
        TensorView lse;       // (tile, 1) f64
        TensorView d_normed;  // (tile / tensor, C) accum
        TensorView d_x;       // (tile / tensor, C) compute; empty: more blocks follow
        Into into = Into::add;
    };

    int last_layer() const;  // its unit
    TensorView rstd(const Tile& tile, const TensorView& x) const;
    TensorView statistics_of(const Tile& tile) const;
    TensorView losses_of(const Tile& tile) const;
    void download_losses(const Tile& tile, double* to) const;
    void queue_norm(const Tile& tile, const TensorView& x) const;
    void queue_norm_grad(const Tile& tile, const TensorView& d_normed, const TensorView& x,
                         const TensorView& d_x) const;

    TileTask logits_tile(const HeadRows& head, Tile tile, TensorView x, TensorView own) const;
    TileTask gather_logits(Tile tile, TensorView logits) const;
    void queue_whole(TokenStore& x, const LossWork& work);
    TileTask whole_tile(const HeadRows& head, Tile tile, TensorView x, const LossWork& work,
                        TensorView d_x) const;
    TileTask cut_tile(const HeadRows& head, Tile tile, TensorView x, const LossWork& work,
                      TensorView d_x) const;

    void queue_blocks(TokenStore& x, const LossWork& work);
    void queue_statistics(int block, int next, TokenStore& x, TokenStore& statistics);
    void queue_loss(std::vector<TokenStore>& statistics, TokenStore* lse, const LossWork& work);
    void queue_gradients(int block, TokenStore& x, TokenStore& lse, TokenStore& d_normed,
                         const LossWork& work);
    TileTask statistics_tile(const HeadRows& head, Tile tile, TensorView x,
                             TensorView statistics) const;
    TileTask loss_tile(Tile tile, TensorView lse, const LossWork& work) const;
    TileTask gradient_tile(const HeadRows& head, Tile tile, GradientRows rows, double scale) const;

    HeadContext context_;
    int num_blocks_;
    Tensor losses_;      // (lanes, tile) f64
    Tensor statistics_;  // (lanes, tensor, blocks, tile, 3) f64: of a head in several parts
    Tensor lse_;         // (lanes, tile) f64; likewise
};

}  // namespace rm
