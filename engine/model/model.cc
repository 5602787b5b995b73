#include "engine/model/model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/model/layer_stores.h"

namespace rm {
namespace {

TensorView shape_of(DType dtype, std::initializer_list<std::int64_t> shape) {
    return {nullptr, dtype, shape};
}

// The most scratch that any op of a step asks for.
Bytes workspace_for(const Kernels& k, const RankShapes& s, const RankLayout& layout,
                    const Weights& weights) {
    const DType compute = k.types().compute, accum = k.types().accum;
    const std::int64_t chunk = layout.max_query_chunk;
    const std::int64_t keys = layout.memory.working == WorkingSet::whole ? s.S : chunk;
    Bytes most;
    const auto need = [&](Bytes bytes) { most = std::max(most, bytes); };
    const auto need_linear = [&](const LinearWeight& w) {
        const std::int64_t N = w.prepared->num_rows(), K = w.prepared->num_columns();
        const TensorView x = shape_of(compute, {s.tile, K});
        const TensorView y = shape_of(compute, {s.tile, N});
        for (const Into into : {Into::overwrite, Into::add}) {
            need(k.workspace_bytes(LinearFwd{x, w.prepared, y, into}));
            need(k.workspace_bytes(LinearBwdInput{y, w.prepared, x, into}));
        }
        need(k.workspace_bytes(LinearBwdWeight{y, x, shape_of(accum, {N, K})}));
    };
    const LayerWeights& w = weights.any_layer();
    for (const LinearWeight* linear : {&w.q, &w.k, &w.v, &w.o, &w.gate, &w.up, &w.down}) {
        need_linear(*linear);
    }
    const TensorView x = shape_of(compute, {s.tile, s.C});
    need(k.workspace_bytes(RmsNormBwd{x, x, weights.final_norm().weight, shape_of(accum, {s.tile}),
                                      x, weights.final_norm().grad}));
    const PreparedWeight* head = weights.any_head().prepared;
    const TensorView targets = shape_of(DType::i32, {s.tile});
    const TensorView d_head = shape_of(accum, {head->num_rows(), s.C});
    need(k.workspace_bytes(
        LinearCrossEntropy{x, head, targets, 1, shape_of(DType::f64, {1}), x, d_head}));
    if (layout.tensor > 1) {
        const RowShare rows{0, head->num_rows() * layout.tensor};
        need(k.workspace_bytes(
            HeadStatistics{x, head, targets, rows, shape_of(DType::f64, {s.tile, 3})}));
        need(k.workspace_bytes(
            HeadBwd{x, head, targets, rows, shape_of(DType::f64, {s.tile}), 1, x, d_head}));
    }
    const TensorView q = shape_of(compute, {chunk, s.attended_q, s.D});
    const TensorView q_sum = shape_of(accum, {chunk, s.attended_q, s.D});
    const TensorView row = shape_of(accum, {chunk, s.attended_q});
    const TensorView kv = shape_of(compute, {keys, s.attended_kv, s.D});
    const TensorView kv_sum = shape_of(accum, {keys, s.attended_kv, s.D});
    need(k.workspace_bytes(AttentionFwd{{q_sum, row, row}, q, kv, kv, {}, {}, 1}));
    need(k.workspace_bytes(AttentionBwd{q, kv, kv, q, row, row, {}, {}, 1, q_sum, kv_sum, kv_sum}));
    need(k.workspace_bytes(SumSquares{weights.state().all_grads()}));
    return most;
}

}  // namespace

// Members in the order of their making; what is kept lives from a layer's forward to its backward.
struct Model::MicroPass {
    MicroPass(Model& m, PassKind kind, const SequenceRuns& sequence)
        : model(m), runs(sequence), keeps(kind == PassKind::train) {
        model.passes_.begin(kind);
        model.memory_.begin_pass();
    }
    // Everything has been given back.
    void end() {
        rotary = {};
        x = {};
        model.memory_.end_pass();
        model.passes_.end();
    }
    BlockContext context(StreamTimer& attention_timer, BlockListener& listener) {
        return {model.config_,
                model.layout_,
                model.shapes_,
                model.ops_.kernels().types(),
                runs,
                rotary,
                model.memory_,
                model.scratch_,
                model.tiles_,
                model.heads_,
                model.ring_,
                model.ops_,
                attention_timer,
                listener};
    }
    TokenStore store(BufferName name, DType dtype, TokenStore::Place place,
                     std::initializer_list<std::int64_t> shape) const {
        return {model.memory_, name, place, dtype, shape};
    }
    // The residual stream into a layer, or out of the last one.
    TokenStore residual(int layer) const {
        return store({"x", layer}, compute(), kept_place(model.layout_.memory),
                     {model.shapes_.Ts, model.shapes_.C});
    }
    TokenStore working(BufferName name, DType dtype,
                       std::initializer_list<std::int64_t> shape) const {
        return store(name, dtype, working_place(model.layout_.memory), shape);
    }
    DType compute() const { return model.ops_.kernels().types().compute; }
    TokenWindow tokens(TokenStore& s, RowAccess access) const {
        return cut_window(model.memory_, s, model.layout_.tokens, access);
    }
    TokenWindow shards(TokenStore& s, RowAccess access) const {
        return cut_window(model.memory_, s, model.layout_.shards, access);
    }

    Model& model;
    const SequenceRuns& runs;
    const bool keeps;
    RotaryTables rotary;
    TokenStore x;  // (Ts, C) compute: into the next layer
    std::vector<LayerKept> kept;
};

Model::Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
             const RankLayout& layout, const RopeConfig& rope, PassMemory& passes)
    : config_(config),
      weights_(weights),
      layout_(layout),
      shapes_(config, layout),
      rope_(rope_frequencies(rope, config.head_dim, layout.context)),
      passes_(passes),
      memory_(streams, passes.device(), passes.host(), layout.memory),
      scratch_(streams.kernels, shapes_, layout.tensor),
      tokens_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      targets_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      tiles_(streams, shapes_, layout.tensor, layout.tensor_index),
      heads_(streams, memory_, config, layout, shapes_),
      ring_(streams.kernels, memory_, streams.communicator, streams.communication, shapes_.S,
            shapes_.attended_kv, config.head_dim),
      workspace_(streams.kernels.device().allocate(
          workspace_for(streams.kernels, shapes_, layout, weights), MemoryKind::workspace)),
      ops_(streams.kernels, {workspace_.data(), workspace_.size()}, streams.compute, &memory_) {
    if (layout.tensor == 1) return;
    Device& device = streams.kernels.device();
    statistics_ =
        Tensor(device, MemoryKind::workspace, DType::f64, {layout.tensor, shapes_.tile, 3});
    lse_ = Tensor(device, MemoryKind::workspace, DType::f64, {shapes_.tile});
}

// Rotary tables of these tokens.
void Model::queue_rotary(MicroPass& pass) {
    const DType accum = ops_.kernels().types().accum;
    const std::int64_t half = shapes_.D / 2;
    pass.rotary.cos = pass.working({"cos"}, accum, {shapes_.T, half});
    pass.rotary.sin = pass.working({"sin"}, accum, {shapes_.T, half});
    TokenWindow cos = pass.tokens(pass.rotary.cos, RowAccess::write);
    TokenWindow sin = pass.tokens(pass.rotary.sin, RowAccess::write);
    WindowGroup windows(memory_, cos, sin);
    for (const std::vector<Run>& runs : pass.runs.by_chunk) {
        windows.open();
        ops_(RopeTable{runs, rope_.inv_freq, rope_.attention_factor, cos.rows(), sin.rows()});
        windows.close();
    }
}

void Model::queue_embedding(MicroPass& pass, TokenStore& x) {
    const TensorView table = weights_.acquire_embedding(ops_);
    const RowShare rows = weights_.vocabulary_rows();
    TokenWindow at_x = pass.shards(x, RowAccess::write);
    WindowGroup windows(memory_, at_x);
    for_tiles(windows, layout_.chunks, [&](const Tile& tile) {
        const TensorView tokens = at(tokens_, tile.range);
        const TensorView target = at_x.at(tiles_.shard(tile.range));
        if (layout_.tensor == 1) return ops_(EmbeddingFwd{tokens, table, target});
        ops_(EmbeddingFwd{tokens, table, tiles_.partial(tile.range), rows});
        ops_(Copy{tiles_.reduce(ops_, tile.range), target});
    });
}

void Model::queue_embedding_grad(MicroPass& pass, TokenStore& d_x) {
    const TensorView d_table = weights_.acquire_embedding_grad(ops_);
    const RowShare rows = weights_.vocabulary_rows();
    TokenWindow at_d_x = pass.shards(d_x, RowAccess::read);
    WindowGroup windows(memory_, at_d_x);
    for_tiles(windows, layout_.chunks, [&](const Tile& tile) {
        const TensorView shard = at_d_x.at(tiles_.shard(tile.range));
        ops_(EmbeddingBwd{at(tokens_, tile.range), tiles_.gather(ops_, tile.range, shard), d_table,
                          rows});
    });
    weights_.release_embedding_grad();
}

namespace {

// A layer's communication besides its own, in either pass.
class SendWhenAsked final : public BlockListener {
public:
    SendWhenAsked(std::function<void()> first_hop, std::function<void()> attention_sent)
        : first_hop_(std::move(first_hop)), attention_sent_(std::move(attention_sent)) {}
    void on_first_hop() override { first_hop_(); }
    void on_attention_sent() override { attention_sent_(); }

private:
    std::function<void()> first_hop_;
    std::function<void()> attention_sent_;
};

}  // namespace

void Model::show_residual(int layer, const TokenStore& x) const {
    if (!watcher_ || kept_place(layout_.memory) == TokenStore::Place::host) return;
    watcher_(layer, x.whole());
}

void Model::queue_forward(MicroPass& pass) {
    const auto num_layers = static_cast<int>(config_.num_layers);
    timers_.forward.begin(ops_.stream());
    queue_rotary(pass);
    weights_.prefetch(ops_, table().layer_unit(0));
    pass.x = pass.residual(0);
    queue_embedding(pass, pass.x);
    show_residual(0, pass.x);
    weights_.send_prefetched(table().layer_unit(0));
    for (int layer = 0; layer < num_layers; ++layer) {
        const bool last = layer + 1 == num_layers;
        const int next = last ? table().head_unit : table().layer_unit(layer + 1);
        weights_.prefetch(ops_, next);
        const LayerWeights& weights = weights_.acquire(ops_, layer, Pass::forward);
        SendWhenAsked sender([] {}, [&] { weights_.send_prefetched(next); });
        TokenStore x_next = pass.residual(layer + 1);
        LayerKept* kept = pass.keeps ? &pass.kept.emplace_back() : nullptr;
        block_forward(pass.context(timers_.attention.forward, sender), weights, layer, pass.x,
                      x_next, kept);
        weights_.release(layer, Pass::forward);
        show_residual(layer + 1, x_next);
        if (kept != nullptr) kept->x = std::move(pass.x);
        pass.x = std::move(x_next);
    }
    timers_.forward.end(ops_.stream());
}

// Loss of one tile where each rank has rows of the head; backward d_normed, the shard.
TensorView Model::queue_cut_head(const LinearWeight& head, const TensorView& normed,
                                 const TokenRange& tile, double scale, const TensorView& loss_sum,
                                 bool backward) {
    const TensorView targets = at(targets_, tile);
    const RowShare rows = weights_.vocabulary_rows();
    const std::int64_t G = tiles_.size();
    const TensorView parts = TensorView(statistics_->data(), DType::f64, {G, tile.count, 3});
    const TensorView own = parts.rows(tiles_.index(), 1).reshaped({tile.count, 3});
    const TensorView lse = lse_->rows(0, tile.count);
    ops_(HeadStatistics{normed, head.prepared, targets, rows, own});
    tiles_.gather_parts(parts);
    ops_(CombineHeadStatistics{parts, targets, lse, loss_sum});
    if (!backward) return {};
    ops_(
        HeadBwd{normed, head.prepared, targets, rows, lse, scale, tiles_.partial(tile), head.grad});
    return tiles_.reduce(ops_, tile);
}

// x and d_x: the tile's shard; d_x is overwritten, or empty: forward only.
void Model::queue_tile_loss(const LinearWeight& head, const TokenRange& tile, const TensorView& x,
                            double scale, const TensorView& loss_sum, const TensorView& d_x) {
    const NormWeight& norm = weights_.final_norm();
    const bool backward = !d_x.empty();
    const TensorView rstd = scratch_.rstd->rows(0, x.dim(0));
    ops_(RmsNormFwd{x, norm.weight, tiles_.place(tile), rstd, config_.norm_eps});
    const TensorView normed = tiles_.gather(ops_, tile);
    TensorView d_normed;
    if (tiles_.size() > 1) {
        d_normed = queue_cut_head(head, normed, tile, scale, loss_sum, backward);
    } else {
        if (backward) d_normed = tiles_.partial(tile);
        ops_(LinearCrossEntropy{normed, head.prepared, at(targets_, tile), scale, loss_sum,
                                d_normed, head.grad});
    }
    if (!backward) return;
    ops_(FillZero{d_x});
    ops_(RmsNormBwd{d_normed, x, norm.weight, rstd, d_x, norm.grad});
}

// Final norm, head and loss, tile by tile.
void Model::queue_head(MicroPass& pass, double scale, const TensorView& loss_sum, TokenStore* d_x) {
    const auto direction = d_x == nullptr ? Pass::forward : Pass::backward;
    const LinearWeight& head = weights_.acquire_head(ops_, direction);
    {
        TokenWindow at_x = pass.shards(pass.x, RowAccess::read);
        TokenWindow at_d_x = d_x == nullptr ? TokenWindow() : pass.shards(*d_x, RowAccess::write);
        WindowGroup windows(memory_, at_x, at_d_x);
        for_tiles(windows, layout_.chunks, [&](const Tile& tile) {
            const TokenRange shard = tiles_.shard(tile.range);
            queue_tile_loss(head, tile.range, at_x.at(shard), scale, loss_sum,
                            d_x == nullptr ? TensorView() : at_d_x.at(shard));
        });
    }
    pass.x = {};
    if (d_x != nullptr) weights_.release_head();
}

// Queues first what a layer needs: the first hop of its ring, then the weights of the next one, its
// other hops, and last the gradients of the one before, which nobody waits for.
void Model::queue_backward(MicroPass& pass, TokenStore& d_x) {
    const auto num_layers = static_cast<int>(config_.num_layers);
    for (int layer = num_layers; layer-- > 0;) {
        const bool first = layer + 1 == num_layers;
        if (layer > 0) weights_.prefetch(ops_, table().layer_unit(layer - 1));
        const LayerWeights& weights = weights_.acquire(ops_, layer, Pass::backward);
        const auto send_weights = [&] {
            if (layer > 0) weights_.send_prefetched(table().layer_unit(layer - 1));
        };
        SendWhenAsked sender(
            [&] {
                // The tiles of a tensor group would wait for them.
                if (tiles_.size() == 1) send_weights();
            },
            [&] {
                send_weights();
                if (!first) weights_.send_gradients(layer + 1);
            });
        LayerKept kept = std::move(pass.kept.back());
        pass.kept.pop_back();
        block_backward(pass.context(timers_.attention.backward, sender), weights, layer,
                       std::move(kept), d_x);
        weights_.release(layer, Pass::backward);
    }
    weights_.send_gradients(0);
    queue_embedding_grad(pass, d_x);
}

void Model::queue_hidden(const SequenceRuns& runs, const TensorView& hidden) {
    MicroPass pass(*this, PassKind::hidden, runs);
    queue_forward(pass);
    {
        TokenWindow at_x = pass.shards(pass.x, RowAccess::read);
        WindowGroup windows(memory_, at_x);
        for_tiles(windows, layout_.chunks, [&](const Tile& tile) {
            const TokenRange shard = tiles_.shard(tile.range);
            ops_(RmsNormFwd{at_x.at(shard), weights_.final_norm().weight, at(hidden, shard),
                            scratch_.rstd->rows(0, shard.count), config_.norm_eps});
        });
    }
    pass.end();
}

void Model::queue_loss(const SequenceRuns& runs, const TensorView& loss_sum) {
    MicroPass pass(*this, PassKind::loss, runs);
    queue_forward(pass);
    queue_head(pass, 1, loss_sum, nullptr);
    pass.end();
}

void Model::queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                     const TensorView& loss_sum, Accumulate accumulate) {
    MicroPass pass(*this, PassKind::train, runs);
    queue_forward(pass);
    timers_.backward.begin(ops_.stream());
    weights_.begin_backward(accumulate);
    {
        TokenStore d_x = pass.working({"d_x"}, pass.compute(), {shapes_.Ts, shapes_.C});
        queue_head(pass, scale, loss_sum, &d_x);
        queue_backward(pass, d_x);
    }
    timers_.backward.end(ops_.stream());
    pass.end();
}

}  // namespace rm
