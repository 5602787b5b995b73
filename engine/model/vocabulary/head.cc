#include "engine/model/vocabulary/head.h"

namespace rm {

Head::Head(const HeadContext& context)
    : context_(context), num_blocks_(context.weights.num_blocks()) {
    const std::int64_t tensor = context.layout.tensor, tile = context.shapes.tile;
    if (tensor * num_blocks_ == 1) return;
    Device& device = context.memory.device();
    statistics_ = Tensor(device, MemoryKind::workspace, DType::f64, {tensor, num_blocks_, tile, 3});
    lse_ = Tensor(device, MemoryKind::workspace, DType::f64, {tile});
}

void Head::queue(TokenStore x, const LossWork& work) {
    if (num_blocks_ == 1) return queue_whole(x, work);
    queue_blocks(x, work);
}

Windows Head::windows() const {
    context_.memory.settle();
    return {context_.memory, context_.layout};
}

// x: the tile's shard.
TensorView Head::normed(const TokenRange& tile, const TensorView& x) const {
    const auto& [model, layout, shapes, weights, memory, scratch, tiles, ops, targets] = context_;
    const TensorView rstd = scratch.rstd->rows(0, x.dim(0));
    ops(RmsNormFwd{x, weights.final_norm().weight, tiles.place(tile), rstd, model.norm_eps});
    return tiles.gather(ops, tile);
}

// After normed() of the same tile.
void Head::queue_norm_grad(const TensorView& d_normed, const TensorView& x,
                           const TensorView& d_x) const {
    const NormWeight& norm = context_.weights.final_norm();
    const TensorView rstd = context_.scratch.rstd->rows(0, x.dim(0));
    context_.ops(FillZero{d_x});
    context_.ops(RmsNormBwd{d_normed, x, norm.weight, rstd, d_x, norm.grad});
}

// A head of one block.
void Head::queue_whole(TokenStore& x, const LossWork& work) {
    Weights& weights = context_.weights;
    const bool backward = work.d_x != nullptr;
    const int next = backward ? last_layer() : ParameterTable::kNoUnit;
    weights.prefetch(context_.ops, next);
    const HeadRows head =
        weights.acquire_head(context_.ops, 0, backward ? LayerPass::backward : LayerPass::forward);
    {
        Windows all(context_.memory, context_.layout);
        const TileWindow at_x = all.read(x, Rows::shards);
        const TileWindow at_d_x = all.on(work.d_x, Rows::shards, RowAccess::write);
        all.for_each([&](const Tile& tile) {
            queue_tile(head, tile.range, at_x(tile), work, backward ? at_d_x(tile) : TensorView());
            weights.send_prefetched(next);
        });
    }
    if (backward) weights.release_head(0);
}

// x and d_x: the tile's shard; d_x is overwritten, or empty: forward only.
void Head::queue_tile(const HeadRows& head, const TokenRange& tile, const TensorView& x,
                      const LossWork& work, const TensorView& d_x) {
    TensorTiles& tiles = context_.tiles;
    const bool backward = !d_x.empty();
    const TensorView whole = normed(tile, x);
    TensorView d_normed;
    if (tiles.size() > 1) {
        d_normed = queue_cut_tile(head, whole, tile, work);
    } else {
        if (backward) d_normed = tiles.partial(tile);
        context_.ops(LinearCrossEntropy{whole, head.weight.prepared, at(context_.targets, tile),
                                        work.scale, work.loss_sum, d_normed, head.weight.grad});
    }
    if (backward) queue_norm_grad(d_normed, x, d_x);
}

// Loss of one tile where each rank has rows of the head; backward d_normed, the shard.
TensorView Head::queue_cut_tile(const HeadRows& head, const TensorView& normed,
                                const TokenRange& tile, const LossWork& work) {
    TensorTiles& tiles = context_.tiles;
    const Ops& ops = context_.ops;
    const TensorView targets = at(context_.targets, tile);
    const TensorView parts(statistics_->data(), DType::f64, {tiles.size(), tile.count, 3});
    const TensorView own = parts.rows(tiles.index(), 1).reshaped({tile.count, 3});
    const TensorView lse = lse_->rows(0, tile.count);
    ops(HeadStatistics{normed, head.weight.prepared, targets, head.share, own});
    tiles.gather_parts(parts);
    ops(CombineHeadStatistics{parts, targets, lse, work.loss_sum});
    if (work.d_x == nullptr) return {};
    ops(HeadBwd{normed, head.weight.prepared, targets, head.share, lse, work.scale,
                tiles.partial(tile), head.weight.grad});
    return tiles.reduce(ops, tile);
}

int Head::last_layer() const {
    const ParameterTable& table = context_.weights.table();
    return table.layer_unit(static_cast<int>(table.layers.size()) - 1);
}

void Head::queue_blocks(TokenStore& x, const LossWork& work) {
    StepMemory& memory = context_.memory;
    const auto [T, Ts, C] = std::array{context_.shapes.T, context_.shapes.Ts, context_.shapes.C};
    const int first_unit = context_.weights.table().head_unit;
    std::vector<TokenStore> statistics;
    for (int block = 0; block < num_blocks_; ++block) {
        const int again = work.d_x == nullptr ? ParameterTable::kNoUnit : first_unit + block;
        const int next = block + 1 < num_blocks_ ? first_unit + block + 1 : again;
        statistics.push_back(working_store(memory, {"head_statistics", block}, DType::f64, {T, 3}));
        queue_statistics(block, next, x, statistics.back());
    }
    if (work.d_x == nullptr) return queue_loss(statistics, nullptr, work.loss_sum);
    TokenStore lse = working_store(memory, {"head_lse"}, DType::f64, {T, 1});
    queue_loss(statistics, &lse, work.loss_sum);
    statistics.clear();
    TokenStore d_normed = working_store(memory, {"d_normed"}, memory.types().accum, {Ts, C});
    for (int block = num_blocks_; block-- > 0;)
        queue_gradients(block, x, lse, d_normed, work);
}

void Head::queue_statistics(int block, int next, TokenStore& x, TokenStore& statistics) {
    Weights& weights = context_.weights;
    weights.prefetch(context_.ops, next);
    const HeadRows head = weights.acquire_head(context_.ops, block, LayerPass::forward);
    Windows all = windows();
    const TileWindow at_x = all.read(x, Rows::shards);
    const TileWindow at_statistics = all.write(statistics, Rows::tokens);
    all.for_each([&](const Tile& tile) {
        const TensorView whole = normed(tile.range, at_x(tile));
        context_.ops(HeadStatistics{whole, head.weight.prepared, at(context_.targets, tile.range),
                                    head.share, at_statistics(tile)});
        weights.send_prefetched(next);
    });
}

// Merges the statistics of all blocks and tensor ranks, in the order of ranks, then blocks.
void Head::queue_loss(std::vector<TokenStore>& statistics, TokenStore* lse,
                      const TensorView& loss_sum) {
    TensorTiles& tiles = context_.tiles;
    Windows all = windows();
    std::vector<TileWindow> at_statistics;
    for (TokenStore& store : statistics)
        at_statistics.push_back(all.read(store, Rows::tokens));
    const TileWindow at_lse = all.on(lse, Rows::tokens, RowAccess::write);
    all.for_each([&](const Tile& tile) {
        const std::int64_t t = tile.range.count, ranks = tiles.size();
        const TensorView parts(statistics_->data(), DType::f64, {ranks, num_blocks_ * t, 3});
        const TensorView own = parts.rows(tiles.index(), 1).reshaped({num_blocks_, t, 3});
        for (int block = 0; block < num_blocks_; ++block)
            context_.ops(Copy{at_statistics[usize(block)](tile), own.rows(block, 1)});
        tiles.gather_parts(parts);
        const TensorView out = lse == nullptr ? lse_->rows(0, t) : at_lse(tile).reshaped({t});
        context_.ops(CombineHeadStatistics{parts.reshaped({ranks * num_blocks_, t, 3}),
                                           at(context_.targets, tile.range), out, loss_sum});
    });
}

void Head::queue_gradients(int block, TokenStore& x, TokenStore& lse, TokenStore& d_normed,
                           const LossWork& work) {
    Weights& weights = context_.weights;
    const bool first = block + 1 == num_blocks_, last = block == 0;
    const int next = last ? last_layer() : weights.table().head_unit + block - 1;
    weights.prefetch(context_.ops, next);
    const HeadRows head = weights.acquire_head(context_.ops, block, LayerPass::backward);
    {
        Windows all = windows();
        const TileWindow at_x = all.read(x, Rows::shards);
        const TileWindow at_lse = all.read(lse, Rows::tokens);
        const TileWindow at_d_normed =
            all.on(&d_normed, Rows::shards, first ? RowAccess::write : RowAccess::update);
        const TileWindow at_d_x = all.on(last ? work.d_x : nullptr, Rows::shards, RowAccess::write);
        all.for_each([&](const Tile& tile) {
            const GradientTile rows{tile.range,
                                    at_x(tile),
                                    at_lse(tile),
                                    at_d_normed(tile),
                                    last ? at_d_x(tile) : TensorView(),
                                    first ? Into::overwrite : Into::add};
            queue_gradient_tile(head, rows, work.scale);
            weights.send_prefetched(next);
        });
    }
    weights.release_head(block);
}

void Head::queue_gradient_tile(const HeadRows& head, const GradientTile& tile, double scale) {
    TensorTiles& tiles = context_.tiles;
    const Ops& ops = context_.ops;
    const std::int64_t t = tile.range.count, rows = tile.x.dim(0), C = tile.x.dim(1);
    const TensorView whole = normed(tile.range, tile.x);
    ops(HeadBwd{whole, head.weight.prepared, at(context_.targets, tile.range), head.share,
                tile.lse.reshaped({t}), scale, tiles.partial(tile.range), head.weight.grad});
    const TensorView part = tiles.reduce(ops, tile.range);
    ops(CopyHeads{.from = part.reshaped({rows, 1, C}),
                  .to = tile.d_normed.reshaped({rows, 1, C}),
                  .count = 1,
                  .into = tile.into});
    if (tile.d_x.empty()) return;
    ops(Copy{tile.d_normed, part});
    queue_norm_grad(part, tile.x, tile.d_x);
}

}  // namespace rm
