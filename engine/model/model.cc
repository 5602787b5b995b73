#include "engine/model/model.h"

#include <algorithm>

#include "engine/model/rope.h"

namespace rm {
namespace {

TensorView shape_of(DType dtype, std::initializer_list<std::int64_t> shape) {
    return {nullptr, dtype, shape};
}

// The most scratch that any op of a step asks for.
Bytes workspace_for(const Kernels& k, const ModelConfig& m, const RankLayout& layout,
                    const Weights& weights) {
    const auto [compute, accum, master] = k.types();
    const std::int64_t tile = layout.max_tile;
    const std::int64_t chunk = layout.max_chunk;
    const std::int64_t S = layout.local_tokens;
    Bytes most;
    const auto need = [&](Bytes bytes) { most = std::max(most, bytes); };
    const auto need_linear = [&](const LinearWeight& w) {
        const TensorView x = shape_of(compute, {tile, w.prepared->num_columns()});
        const TensorView y = shape_of(compute, {tile, w.prepared->num_rows()});
        for (const Into into : {Into::overwrite, Into::add}) {
            need(k.workspace_bytes(LinearFwd{x, w.prepared, y, into}));
            need(k.workspace_bytes(LinearBwdInput{y, w.prepared, x, into}));
        }
        need(k.workspace_bytes(LinearBwdWeight{y, x, w.grad}));
    };
    const LayerWeights& w = const_cast<Weights&>(weights).acquire(0);
    for (const LinearWeight* linear : {&w.q, &w.k, &w.v, &w.o, &w.gate, &w.up, &w.down}) {
        need_linear(*linear);
    }
    const TensorView x = shape_of(compute, {tile, m.hidden});
    need(k.workspace_bytes(RmsNormBwd{x, x, weights.final_norm().weight, shape_of(accum, {tile}), x,
                                      weights.final_norm().grad}));
    need(k.workspace_bytes(LinearCrossEntropy{x, weights.head().prepared,
                                              shape_of(DType::i32, {tile}), 1,
                                              shape_of(DType::f64, {1}), x, weights.head().grad}));
    const TensorView q = shape_of(compute, {chunk, m.num_query_heads, m.head_dim});
    const TensorView q_sum = shape_of(accum, {chunk, m.num_query_heads, m.head_dim});
    const TensorView row = shape_of(accum, {chunk, m.num_query_heads});
    const TensorView kv = shape_of(compute, {S, m.num_kv_heads, m.head_dim});
    const TensorView kv_sum = shape_of(accum, {S, m.num_kv_heads, m.head_dim});
    need(k.workspace_bytes(AttentionFwd{{q_sum, row, row}, q, kv, kv, {}, {}, 1}));
    need(k.workspace_bytes(AttentionBwd{q, kv, kv, q, row, row, {}, {}, 1, q_sum, kv_sum, kv_sum}));
    need(k.workspace_bytes(SumSquares{weights.all_grads()}));
    return most;
}

}  // namespace

Model::Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
             const RankLayout& layout, const RopeConfig& rope)
    : config_(config),
      weights_(weights),
      layout_(layout),
      scratch_(streams.kernels, config, layout),
      x_last_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().compute,
              {layout.local_tokens, config.hidden}),
      tokens_(streams.kernels.device(), MemoryKind::data, DType::i32, {layout.local_tokens}),
      targets_(streams.kernels.device(), MemoryKind::data, DType::i32, {layout.local_tokens}),
      rope_cos_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().accum,
                {layout.local_tokens, config.head_dim / 2}),
      rope_sin_(streams.kernels.device(), MemoryKind::activations, streams.kernels.types().accum,
                {layout.local_tokens, config.head_dim / 2}),
      ring_(streams.kernels, streams.communicator, streams.communication, layout.local_tokens,
            config.num_kv_heads, config.head_dim),
      workspace_(streams.kernels.device().allocate(
          workspace_for(streams.kernels, config, layout, weights), MemoryKind::workspace)),
      ops_(streams.kernels, {workspace_.data(), workspace_.size()}, streams.compute) {
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        layers_.emplace_back(streams.kernels, config, layout.local_tokens);
    }
    const RopeFrequencies frequencies = rope_frequencies(rope, config.head_dim, layout.context);
    ops_(RopeTable{layout.sequence.local, frequencies.inv_freq, frequencies.attention_factor,
                   rope_cos_, rope_sin_});
    streams.compute.synchronize();
}

BlockContext Model::context(const SequenceRuns& runs) {
    return {config_, layout_, runs, rope_cos_, rope_sin_, scratch_, ops_, timers_.attention};
}

const TensorView& Model::layer_output(std::size_t layer) const {
    return layer + 1 < layers_.size() ? layers_[layer + 1].x.view() : x_last_.view();
}

void Model::queue_forward(const SequenceRuns& runs) {
    timers_.forward.begin(ops_.stream());
    for (const auto& chunk : layout_.chunks) {
        for (const TokenRange& tile : chunk) {
            ops_(EmbeddingFwd{tokens_->rows(tile.first, tile.count), weights_.embedding(),
                              layers_[0].x->rows(tile.first, tile.count)});
        }
    }
    weights_.prefetch(0);
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        const int index = static_cast<int>(layer);
        if (layer + 1 < layers_.size()) weights_.prefetch(index + 1);
        RingKv kv(ring_, ops_, layers_[layer].kv, runs.by_slot);
        block_forward(context(runs), weights_.acquire(index), layers_[layer], kv,
                      layer_output(layer));
        weights_.release(index);
    }
    timers_.forward.end(ops_.stream());
}

// Final norm, head and loss, tile by tile; with d_x also their backward, which overwrites d_x.
void Model::queue_head(double scale, const TensorView& loss_sum, const TensorView& d_x) {
    const NormWeight& norm = weights_.final_norm();
    for (const auto& chunk : layout_.chunks) {
        for (const TokenRange& tile : chunk) {
            const TensorView x = x_last_->rows(tile.first, tile.count);
            const TensorView normed = scratch_.normed->rows(0, tile.count);
            const TensorView rstd = scratch_.rstd->rows(0, tile.count);
            ops_(RmsNormFwd{x, norm.weight, normed, rstd, config_.norm_eps});
            LinearCrossEntropy loss{normed, weights_.head().prepared,
                                    targets_->rows(tile.first, tile.count), scale, loss_sum};
            if (d_x.empty()) {
                ops_(loss);
                continue;
            }
            loss.d_x = scratch_.d_normed->rows(0, tile.count);
            loss.d_head = weights_.head().grad;
            ops_(loss);
            const TensorView d = d_x.rows(tile.first, tile.count);
            ops_(FillZero{d});
            ops_(RmsNormBwd{loss.d_x, x, norm.weight, rstd, d, norm.grad});
        }
    }
}

void Model::queue_backward(const SequenceRuns& runs) {
    weights_.prefetch(static_cast<int>(layers_.size()) - 1);
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
        const int index = static_cast<int>(layer);
        if (layer > 0) weights_.prefetch(index - 1);
        RingKvGrad kv(ring_, ops_, layers_[layer].kv, runs.by_slot);
        block_backward(context(runs), weights_.acquire(index), layers_[layer], kv);
        weights_.release(index);
    }
    for (const auto& chunk : layout_.chunks) {
        for (const TokenRange& tile : chunk) {
            ops_(EmbeddingBwd{tokens_->rows(tile.first, tile.count),
                              scratch_.d_x->rows(tile.first, tile.count),
                              weights_.embedding_grad()});
        }
    }
}

void Model::queue_hidden(const SequenceRuns& runs, const TensorView& hidden) {
    queue_forward(runs);
    for (const auto& chunk : layout_.chunks) {
        for (const TokenRange& tile : chunk) {
            ops_(RmsNormFwd{x_last_->rows(tile.first, tile.count), weights_.final_norm().weight,
                            hidden.rows(tile.first, tile.count), scratch_.rstd->rows(0, tile.count),
                            config_.norm_eps});
        }
    }
}

void Model::queue_loss(const SequenceRuns& runs, const TensorView& loss_sum) {
    queue_forward(runs);
    queue_head(1, loss_sum, {});
}

void Model::queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                     const TensorView& loss_sum) {
    queue_forward(runs);
    timers_.backward.begin(ops_.stream());
    queue_head(scale, loss_sum, scratch_.d_x);
    queue_backward(runs);
    timers_.backward.end(ops_.stream());
}

}  // namespace rm
