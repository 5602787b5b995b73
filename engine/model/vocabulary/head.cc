#include "engine/model/vocabulary/head.h"

namespace rm {
namespace {

// The sum with the last block's part goes into d_x at once. Nothing reads it from its store, so it
// is not stored: no stream would wait until it is there before the store's bytes are used again.
RowAccess access_to_sum(bool first, bool last) {
    if (first) return RowAccess::write;
    return last ? RowAccess::read : RowAccess::update;
}

}  // namespace

Head::Head(const HeadContext& context)
    : context_(context), num_blocks_(context.weights.num_blocks()) {
    const std::int64_t tensor = context.layout.tensor, tile = context.shapes.tile;
    Device& device = context.memory.device();
    const std::int64_t lanes = context.layout.lanes();
    losses_ = Tensor(device, MemoryKind::workspace, DType::f64, {lanes, tile});
    if (tensor * num_blocks_ == 1) return;
    statistics_ =
        Tensor(device, MemoryKind::workspace, DType::f64, {lanes * tensor, num_blocks_, tile, 3});
    lse_ = Tensor(device, MemoryKind::workspace, DType::f64, {lanes, tile});
}

void Head::queue(TokenStore x, const LossWork& work) {
    if (num_blocks_ == 1) return queue_whole(x, work);
    queue_blocks(x, work);
}

TensorView Head::rstd(const Tile& tile, const TensorView& x) const {
    return context_.scratch(tile).rstd->rows(0, x.dim(0));
}

// The tile's, of all ranks and blocks, (tensor, blocks * tile, 3).
TensorView Head::statistics_of(const Tile& tile) const {
    const std::int64_t ranks = context_.tiles.size();
    const TensorView of_lane = statistics_->rows(tile.lane * ranks, ranks);
    return {of_lane.data(), DType::f64, {ranks, num_blocks_ * tile.range.count, 3}};
}

TensorView Head::losses_of(const Tile& tile) const {
    return losses_->rows(tile.lane, 1).reshaped({losses_->dim(1)}).rows(0, tile.range.count);
}

// Before another tile takes the lane: the device never has the losses of all tokens.
void Head::download_losses(const Tile& tile, double* to) const {
    if (to == nullptr) return;
    context_.memory.device().download(losses_of(tile), to + tile.range.first,
                                      context_.ops.stream());
}

// x: the tile's shard. The normed tile is gathered next.
void Head::queue_norm(const Tile& tile, const TensorView& x) const {
    context_.ops(RmsNormFwd{x, context_.weights.final_norm().weight, context_.tiles.place(tile),
                            rstd(tile, x), context_.model.norm_eps});
}

void Head::queue_norm_grad(const Tile& tile, const TensorView& d_normed, const TensorView& x,
                           const TensorView& d_x) const {
    const NormWeight& norm = context_.weights.final_norm();
    context_.ops(FillZero{d_x});
    context_.ops(RmsNormBwd{d_normed, x, norm.weight, rstd(tile, x), d_x, norm.grad});
}

TileTask Head::logits_tile(const HeadRows& head, Tile tile, TensorView x, TensorView own) const {
    queue_norm(tile, x);
    const TensorView normed = co_await context_.tiles.gather(tile);
    context_.ops(LinearFwd{normed.rows(0, 1), head.weight.prepared, own});
}

TileTask Head::gather_logits(Tile tile, TensorView logits) const {
    co_await context_.tiles.gather_parts(tile, logits);
}

void Head::queue_logits(TokenStore x, const TensorView& logits) {
    Weights& weights = context_.weights;
    const int first_unit = weights.table().head_unit;
    const TensorView own = logits.rows(context_.tiles.index(), 1).reshaped({logits.dim(1)});
    std::int64_t first = 0;
    for (int block = 0; block < num_blocks_; ++block) {
        const bool last = block + 1 == num_blocks_;
        const int next = last ? ParameterTable::kNoUnit : first_unit + block + 1;
        weights.prefetch(context_.ops, next);
        const HeadRows head = weights.acquire_head(context_.ops, block, LayerPass::forward);
        const std::int64_t count = head.weight.prepared->num_rows();
        Windows all = context_.windows();
        const TileWindow at_x = all.read(x, Rows::shards);
        all.for_each([&](const Tile& tile) {
            const TensorView to = own.rows(first, count).reshaped({1, count});
            TileTask task = logits_tile(head, tile, at_x(tile), to);
            weights.send_prefetched(next);
            return task;
        });
        first += count;
    }
    context_.windows().for_each([&](const Tile& tile) { return gather_logits(tile, logits); });
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
        Windows all(context_.memory, context_.layout, context_.layout.lanes());
        const TileWindow at_x = all.read(x, Rows::shards);
        const TileWindow at_d_x = all.on(work.d_x, Rows::shards, RowAccess::write);
        all.for_each([&](const Tile& tile) {
            const TensorView d_x = backward ? at_d_x(tile) : TensorView();
            TileTask task = context_.tiles.size() > 1
                                ? cut_tile(head, tile, at_x(tile), work, d_x)
                                : whole_tile(head, tile, at_x(tile), work, d_x);
            weights.send_prefetched(next);
            return task;
        });
    }
    if (backward) weights.release_head(context_.ops, 0);
}

// x and d_x: the tile's shard; d_x is overwritten, or empty: forward only.
TileTask Head::whole_tile(const HeadRows& head, Tile tile, TensorView x, const LossWork& work,
                          TensorView d_x) const {
    TensorTiles& tiles = context_.tiles;
    queue_norm(tile, x);
    const TensorView normed = co_await tiles.gather(tile);
    const TensorView d_normed = d_x.empty() ? TensorView() : tiles.partial(tile);
    context_.ops(LinearCrossEntropy{normed, head.weight.prepared, at(context_.targets, tile.range),
                                    work.scale, losses_of(tile), work.loss_sum, d_normed,
                                    head.weight.grad});
    download_losses(tile, work.losses);
    if (!d_x.empty()) queue_norm_grad(tile, d_normed, x, d_x);
}

// The same where each rank has rows of the head.
TileTask Head::cut_tile(const HeadRows& head, Tile tile, TensorView x, const LossWork& work,
                        TensorView d_x) const {
    TensorTiles& tiles = context_.tiles;
    const Ops& ops = context_.ops;
    const std::int64_t count = tile.range.count;
    const TensorView targets = at(context_.targets, tile.range);
    const TensorView parts = statistics_of(tile);
    const TensorView own = parts.rows(tiles.index(), 1).reshaped({count, 3});
    const TensorView lse = lse_->rows(tile.lane, 1).reshaped({lse_->dim(1)}).rows(0, count);
    queue_norm(tile, x);
    const TensorView normed = co_await tiles.gather(tile);
    ops(HeadStatistics{normed, head.weight.prepared, targets, head.share, own});
    co_await tiles.gather_parts(tile, parts);
    ops(CombineHeadStatistics{parts, targets, lse, losses_of(tile), work.loss_sum});
    download_losses(tile, work.losses);
    if (d_x.empty()) co_return;
    ops(HeadBwd{normed, head.weight.prepared, targets, head.share, lse, work.scale,
                tiles.partial(tile), head.weight.grad});
    const TensorView d_normed = co_await tiles.reduce(ops, tile);
    queue_norm_grad(tile, d_normed, x, d_x);
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
    if (work.d_x == nullptr) return queue_loss(statistics, nullptr, work);
    TokenStore lse = working_store(memory, {"head_lse"}, DType::f64, {T, 1});
    queue_loss(statistics, &lse, work);
    statistics.clear();
    TokenStore d_normed = working_store(memory, {"d_normed"}, memory.types().accum, {Ts, C});
    for (int block = num_blocks_; block-- > 0;)
        queue_gradients(block, x, lse, d_normed, work);
}

void Head::queue_statistics(int block, int next, TokenStore& x, TokenStore& statistics) {
    Weights& weights = context_.weights;
    weights.prefetch(context_.ops, next);
    const HeadRows head = weights.acquire_head(context_.ops, block, LayerPass::forward);
    Windows all = context_.windows();
    const TileWindow at_x = all.read(x, Rows::shards);
    const TileWindow at_statistics = all.write(statistics, Rows::tokens);
    all.for_each([&](const Tile& tile) {
        TileTask task = statistics_tile(head, tile, at_x(tile), at_statistics(tile));
        weights.send_prefetched(next);
        return task;
    });
}

TileTask Head::statistics_tile(const HeadRows& head, Tile tile, TensorView x,
                               TensorView statistics) const {
    queue_norm(tile, x);
    const TensorView normed = co_await context_.tiles.gather(tile);
    context_.ops(HeadStatistics{normed, head.weight.prepared, at(context_.targets, tile.range),
                                head.share, statistics});
}

// Merges the statistics of all blocks and tensor ranks, in the order of ranks, then blocks.
void Head::queue_loss(std::vector<TokenStore>& statistics, TokenStore* lse, const LossWork& work) {
    Windows all = context_.windows();
    std::vector<TileWindow> at_statistics;
    for (TokenStore& store : statistics)
        at_statistics.push_back(all.read(store, Rows::tokens));
    const TileWindow at_lse = all.on(lse, Rows::tokens, RowAccess::write);
    all.for_each([&](const Tile& tile) {
        const std::int64_t count = tile.range.count;
        const TensorView own =
            statistics_of(tile).rows(context_.tiles.index(), 1).reshaped({num_blocks_, count, 3});
        for (int block = 0; block < num_blocks_; ++block)
            context_.ops(Copy{at_statistics[usize(block)](tile), own.rows(block, 1)});
        const TensorView scratch = lse_->rows(tile.lane, 1).reshaped({lse_->dim(1)});
        return loss_tile(tile, lse == nullptr ? scratch.rows(0, count) : at_lse(tile), work);
    });
}

TileTask Head::loss_tile(Tile tile, TensorView lse, const LossWork& work) const {
    const std::int64_t count = tile.range.count;
    const TensorView parts = statistics_of(tile);
    co_await context_.tiles.gather_parts(tile, parts);
    context_.ops(CombineHeadStatistics{parts.reshaped({parts.dim(0) * num_blocks_, count, 3}),
                                       at(context_.targets, tile.range), lse.reshaped({count}),
                                       losses_of(tile), work.loss_sum});
    download_losses(tile, work.losses);
}

void Head::queue_gradients(int block, TokenStore& x, TokenStore& lse, TokenStore& d_normed,
                           const LossWork& work) {
    Weights& weights = context_.weights;
    const bool first = block + 1 == num_blocks_, last = block == 0;
    const int next = last ? last_layer() : weights.table().head_unit + block - 1;
    weights.prefetch(context_.ops, next);
    const HeadRows head = weights.acquire_head(context_.ops, block, LayerPass::backward);
    {
        Windows all = context_.windows();
        const TileWindow at_x = all.read(x, Rows::shards);
        const TileWindow at_lse = all.read(lse, Rows::tokens);
        const TileWindow at_d_normed = all.on(&d_normed, Rows::shards, access_to_sum(first, last));
        const TileWindow at_d_x = all.on(last ? work.d_x : nullptr, Rows::shards, RowAccess::write);
        all.for_each([&](const Tile& tile) {
            const GradientRows rows{at_x(tile), at_lse(tile), at_d_normed(tile),
                                    last ? at_d_x(tile) : TensorView(),
                                    first ? Into::overwrite : Into::add};
            TileTask task = gradient_tile(head, tile, rows, work.scale);
            weights.send_prefetched(next);
            return task;
        });
    }
    weights.release_head(context_.ops, block);
}

TileTask Head::gradient_tile(const HeadRows& head, Tile tile, GradientRows rows,
                             double scale) const {
    TensorTiles& tiles = context_.tiles;
    const Ops& ops = context_.ops;
    const std::int64_t count = rows.x.dim(0), C = rows.x.dim(1);
    queue_norm(tile, rows.x);
    const TensorView normed = co_await tiles.gather(tile);
    ops(HeadBwd{normed, head.weight.prepared, at(context_.targets, tile.range), head.share,
                rows.lse.reshaped({tile.range.count}), scale, tiles.partial(tile),
                head.weight.grad});
    const TensorView part = co_await tiles.reduce(ops, tile);
    ops(CopyHeads{.from = part.reshaped({count, 1, C}),
                  .to = rows.d_normed.reshaped({count, 1, C}),
                  .count = 1,
                  .into = rows.into});
    if (rows.d_x.empty()) co_return;
    ops(Copy{rows.d_normed, part});
    queue_norm_grad(tile, part, rows.x, rows.d_x);
}

}  // namespace rm
