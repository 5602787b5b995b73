#include "engine/model/model.h"

#include <algorithm>

namespace rm {
namespace {

TensorView shape_of(DType dtype, std::initializer_list<std::int64_t> shape) {
    return {nullptr, dtype, shape};
}

// The most scratch that any op of a step asks for.
Bytes workspace_for(const Kernels& k, const RankShapes& s, const RankLayout& layout,
                    const Weights& weights) {
    const DType compute = k.types().compute, accum = k.types().accum;
    const std::int64_t chunk = std::min(std::max(layout.chunk_tokens, layout.tile_tokens), s.S);
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
    const TensorView kv = shape_of(compute, {s.S, s.attended_kv, s.D});
    const TensorView kv_sum = shape_of(accum, {s.S, s.attended_kv, s.D});
    need(k.workspace_bytes(AttentionFwd{{q_sum, row, row}, q, kv, kv, {}, {}, 1}));
    need(k.workspace_bytes(AttentionBwd{q, kv, kv, q, row, row, {}, {}, 1, q_sum, kv_sum, kv_sum}));
    need(k.workspace_bytes(SumSquares{weights.state().all_grads()}));
    return most;
}

}  // namespace

Model::Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
             const RankLayout& layout, const RopeConfig& rope)
    : config_(config),
      weights_(weights),
      layout_(layout),
      shapes_(config, layout),
      rope_(rope_frequencies(rope, config.head_dim, layout.context)),
      scratch_(streams.kernels, shapes_, layout.tensor),
      x_last_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().compute,
              {shapes_.Ts, config.hidden}),
      tokens_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      targets_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      rope_cos_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().accum,
                {shapes_.T, config.head_dim / 2}),
      rope_sin_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().accum,
                {shapes_.T, config.head_dim / 2}),
      tiles_(streams, shapes_, layout.tensor, layout.tensor_index),
      heads_(streams, config, layout, shapes_),
      ring_(streams.kernels, streams.communicator, streams.communication, shapes_.S,
            shapes_.attended_kv, config.head_dim),
      workspace_(streams.kernels.device().allocate(
          workspace_for(streams.kernels, shapes_, layout, weights), MemoryKind::workspace)),
      ops_(streams.kernels, {workspace_.data(), workspace_.size()}, streams.compute) {
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
        layers_.emplace_back(streams.kernels, shapes_);
    if (layout.tensor == 1) return;
    Device& device = streams.kernels.device();
    statistics_ =
        Tensor(device, MemoryKind::workspace, DType::f64, {layout.tensor, shapes_.tile, 3});
    lse_ = Tensor(device, MemoryKind::workspace, DType::f64, {shapes_.tile});
}

BlockContext Model::context(const SequenceRuns& runs, StreamTimer& attention_timer,
                            const std::function<void()>& attention_sent) {
    return {config_, layout_, runs, rope_cos_,       rope_sin_,     scratch_,
            tiles_,  heads_,  ops_, attention_timer, attention_sent};
}

const TensorView& Model::layer_output(std::size_t layer) const {
    return layer + 1 < layers_.size() ? layers_[layer + 1].x.view() : x_last_.view();
}

// Rotary tables of these tokens, where they are not those of the micro-batch before.
void Model::set_positions(const SequenceRuns& runs) {
    if (positions_ == runs.local) return;
    positions_ = runs.local;
    ops_(RopeTable{runs.local, rope_.inv_freq, rope_.attention_factor, rope_cos_, rope_sin_});
}

void Model::queue_embedding() {
    const TensorView table = weights_.acquire_embedding(ops_);
    const RowShare rows = weights_.vocabulary_rows();
    for_each_tile(layout_, [&](const TokenRange& tile) {
        const TensorView x = at(layers_[0].x, tiles_.shard(tile));
        const TensorView tokens = at(tokens_, tile);
        if (layout_.tensor == 1) return ops_(EmbeddingFwd{tokens, table, x});
        ops_(EmbeddingFwd{tokens, table, tiles_.partial(tile), rows});
        ops_(Copy{tiles_.reduce(ops_, tile), x});
    });
}

void Model::queue_embedding_grad() {
    const TensorView d_table = weights_.acquire_embedding_grad(ops_);
    const RowShare rows = weights_.vocabulary_rows();
    for_each_tile(layout_, [&](const TokenRange& tile) {
        const TensorView d_x = tiles_.gather(ops_, tile, at(scratch_.d_x, tiles_.shard(tile)));
        ops_(EmbeddingBwd{at(tokens_, tile), d_x, d_table, rows});
    });
    weights_.release_embedding_grad();
}

void Model::queue_forward(const SequenceRuns& runs) {
    timers_.forward.begin(ops_.stream());
    set_positions(runs);
    weights_.prefetch(ops_, table().layer_unit(0));
    queue_embedding();
    weights_.send_prefetched(table().layer_unit(0));
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        const int index = static_cast<int>(layer);
        const bool last = layer + 1 == layers_.size();
        const int next = last ? table().head_unit : table().layer_unit(index + 1);
        weights_.prefetch(ops_, next);
        const LayerWeights& weights = weights_.acquire(ops_, index, Pass::forward);
        const std::function<void()> sent = [&] { weights_.send_prefetched(next); };
        RingKv kv(ring_, ops_, layers_[layer].kv, runs.by_slot);
        block_forward(context(runs, timers_.attention.forward, sent), weights, layers_[layer], kv,
                      layer_output(layer));
        weights_.release(index, Pass::forward);
    }
    timers_.forward.end(ops_.stream());
}

// Loss of one tile where each rank has rows of the head; with Pass::backward d_normed, the shard.
TensorView Model::queue_cut_head(const LinearWeight& head, const TensorView& normed,
                                 const TokenRange& tile, Pass pass, double scale,
                                 const TensorView& loss_sum) {
    const TensorView targets = at(targets_, tile);
    const RowShare rows = weights_.vocabulary_rows();
    const std::int64_t G = tiles_.size();
    const TensorView parts = TensorView(statistics_->data(), DType::f64, {G, tile.count, 3});
    const TensorView own = parts.rows(tiles_.index(), 1).reshaped({tile.count, 3});
    const TensorView lse = lse_->rows(0, tile.count);
    ops_(HeadStatistics{normed, head.prepared, targets, rows, own});
    tiles_.gather_parts(parts);
    ops_(CombineHeadStatistics{parts, targets, lse, loss_sum});
    if (pass == Pass::forward) return {};
    ops_(
        HeadBwd{normed, head.prepared, targets, rows, lse, scale, tiles_.partial(tile), head.grad});
    return tiles_.reduce(ops_, tile);
}

void Model::queue_tile_loss(const LinearWeight& head, const TokenRange& tile, Pass pass,
                            double scale, const TensorView& loss_sum) {
    const NormWeight& norm = weights_.final_norm();
    const TokenRange shard = tiles_.shard(tile);
    const TensorView x = at(x_last_, shard);
    const TensorView rstd = scratch_.rstd->rows(0, shard.count);
    ops_(RmsNormFwd{x, norm.weight, tiles_.place(tile), rstd, config_.norm_eps});
    const TensorView normed = tiles_.gather(ops_, tile);
    TensorView d_normed;
    if (tiles_.size() > 1) {
        d_normed = queue_cut_head(head, normed, tile, pass, scale, loss_sum);
    } else {
        if (pass == Pass::backward) d_normed = tiles_.partial(tile);
        ops_(LinearCrossEntropy{normed, head.prepared, at(targets_, tile), scale, loss_sum,
                                d_normed, head.grad});
    }
    if (pass == Pass::forward) return;
    const TensorView d_x = at(scratch_.d_x, shard);
    ops_(FillZero{d_x});
    ops_(RmsNormBwd{d_normed, x, norm.weight, rstd, d_x, norm.grad});
}

// Final norm, head and loss, tile by tile; with Pass::backward also their backward, which
// overwrites scratch.d_x.
void Model::queue_head(Pass pass, double scale, const TensorView& loss_sum) {
    const LinearWeight& head = weights_.acquire_head(ops_, pass);
    for_each_tile(layout_, [&](const TokenRange& tile) {
        queue_tile_loss(head, tile, pass, scale, loss_sum);
    });
    if (pass == Pass::backward) weights_.release_head();
}

// What a layer needs goes first: the first hop of its ring, then the weights of the next one, its
// other hops, and last the gradients of the one before, which nobody waits for.
void Model::queue_backward(const SequenceRuns& runs) {
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
        const int index = static_cast<int>(layer);
        const bool first = layer + 1 == layers_.size();
        RingKvGrad kv(ring_, ops_, layers_[layer].kv, runs.by_slot);
        if (layer > 0) weights_.prefetch(ops_, table().layer_unit(index - 1));
        const LayerWeights& weights = weights_.acquire(ops_, index, Pass::backward);
        const auto send_weights = [&] {
            if (layer > 0) weights_.send_prefetched(table().layer_unit(index - 1));
        };
        // The tiles of a tensor group would wait for them.
        if (tiles_.size() == 1) send_weights();
        const std::function<void()> sent = [&] {
            send_weights();
            if (!first) weights_.send_gradients(index + 1);
        };
        block_backward(context(runs, timers_.attention.backward, sent), weights, layers_[layer],
                       kv);
        weights_.release(index, Pass::backward);
    }
    weights_.send_gradients(0);
    queue_embedding_grad();
}

void Model::queue_hidden(const SequenceRuns& runs, const TensorView& hidden) {
    queue_forward(runs);
    for_each_tile(layout_, [&](const TokenRange& tile) {
        const TokenRange shard = tiles_.shard(tile);
        ops_(RmsNormFwd{at(x_last_, shard), weights_.final_norm().weight, at(hidden, shard),
                        scratch_.rstd->rows(0, shard.count), config_.norm_eps});
    });
}

void Model::queue_loss(const SequenceRuns& runs, const TensorView& loss_sum) {
    queue_forward(runs);
    queue_head(Pass::forward, 1, loss_sum);
}

void Model::queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                     const TensorView& loss_sum, Accumulate accumulate) {
    queue_forward(runs);
    timers_.backward.begin(ops_.stream());
    weights_.begin_backward(accumulate);
    queue_head(Pass::backward, scale, loss_sum);
    queue_backward(runs);
    timers_.backward.end(ops_.stream());
}

}  // namespace rm
