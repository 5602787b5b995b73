#include "engine/model/model.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rm {
namespace {

// The most scratch that any op asks for.
class MostWorkspace {
public:
    explicit MostWorkspace(const Kernels& kernels) : kernels_(kernels) {}
    template <typename Op>
    void add(const Op& op) {
        most_ = std::max(most_, kernels_.workspace_bytes(op));
    }
    TensorView compute(std::initializer_list<std::int64_t> shape) const {
        return {nullptr, kernels_.types().compute, shape};
    }
    TensorView accum(std::initializer_list<std::int64_t> shape) const {
        return {nullptr, kernels_.types().accum, shape};
    }
    Bytes bytes() const { return most_; }

private:
    const Kernels& kernels_;
    Bytes most_;
};

void add_fp8_linear(MostWorkspace& most, const PreparedWeight* weight, std::int64_t tile) {
    const std::int64_t N = weight->num_rows(), K = weight->num_columns();
    const bool blocks = weight->form() == WeightForm::fp8_blocks;
    const auto codes = [blocks](std::int64_t rows, std::int64_t columns) {
        const TensorView scale(nullptr, DType::f32, {1});
        const TensorView scales(nullptr, DType::f32, {rows, fp8_blocks(columns)});
        return Fp8Matrix{{nullptr, DType::u8, {rows, columns}}, blocks ? scales : scale};
    };
    for (const Into into : {Into::overwrite, Into::add}) {
        most.add(Fp8LinearFwd{codes(tile, K), weight, most.compute({tile, N}), into});
        most.add(Fp8LinearBwdInput{codes(tile, N), weight, most.compute({tile, K}), into});
    }
    const std::int64_t P = padded_tokens(tile);
    most.add(Fp8LinearBwdWeight{codes(N, P), codes(K, P), most.accum({N, K})});
}

void add_linear(MostWorkspace& most, const LinearWeight& w, std::int64_t tile) {
    if (w.prepared->form() != WeightForm::compute) return add_fp8_linear(most, w.prepared, tile);
    const std::int64_t N = w.prepared->num_rows(), K = w.prepared->num_columns();
    const TensorView x = most.compute({tile, K}), y = most.compute({tile, N});
    for (const Into into : {Into::overwrite, Into::add}) {
        most.add(LinearFwd{x, w.prepared, y, into});
        most.add(LinearBwdInput{y, w.prepared, x, into});
    }
    most.add(LinearBwdWeight{y, x, most.accum({N, K})});
}

void add_head(MostWorkspace& most, const PreparedWeight* head, const RankShapes& s, int parts) {
    const auto f64 = [](std::initializer_list<std::int64_t> shape) {
        return TensorView(nullptr, DType::f64, shape);
    };
    const TensorView x = most.compute({s.tile, s.C});
    const TensorView targets(nullptr, DType::i32, {s.tile});
    const TensorView d_head = most.accum({head->num_rows(), s.C});
    if (parts == 1) {
        return most.add(
            LinearCrossEntropy{x, head, targets, 1, f64({s.tile}), f64({1}), x, d_head});
    }
    const RowShare rows{0, head->num_rows() * parts};
    most.add(HeadStatistics{x, head, targets, rows, f64({s.tile, 3})});
    most.add(HeadBwd{x, head, targets, rows, f64({s.tile}), 1, x, d_head});
}

void add_attention(MostWorkspace& most, const RankShapes& s, const RankLayout& layout,
                   AttentionNumbers numbers) {
    const std::int64_t chunk = layout.max_slot_chunk;
    const std::int64_t keys = layout.memory.working == WorkingSet::whole ? s.S : chunk;
    const TensorView q = most.compute({chunk, s.attended_q, s.D});
    const TensorView q_sum = most.accum({chunk, s.attended_q, s.D});
    const TensorView row = most.accum({chunk, s.attended_q});
    const TensorView kv = most.compute({keys, s.attended_kv, s.D});
    const TensorView kv_sum = most.accum({keys, s.attended_kv, s.D});
    if (numbers == AttentionNumbers::eight_bit) {
        most.add(AttentionFwd8{{q_sum, row, row}, q, kv, kv, {}, {}, 1});
        most.add(AttentionBwd8{q, kv, kv, q, row, row, {}, {}, 1, q_sum, kv_sum, kv_sum});
    }
    most.add(AttentionFwd{{q_sum, row, row}, q, kv, kv, {}, {}, 1});
    most.add(AttentionBwd{q, kv, kv, q, row, row, {}, {}, 1, q_sum, kv_sum, kv_sum});
}

// One token against all before it.
void add_decoding(MostWorkspace& most, const RankShapes& s, const KvCache& cache,
                  const PreparedWeight& head) {
    const TensorView q_sum = most.accum({s.S, s.attended_q, s.D});
    const TensorView row = most.accum({s.S, s.attended_q});
    const TensorView q = most.compute({s.S, s.attended_q, s.D});
    for (const std::int64_t keys : {cache.most_chunk_rows(), cache.most_new()}) {
        const TensorView kv = most.compute({keys, s.attended_kv, s.D});
        most.add(AttentionFwd{{q_sum, row, row}, q, kv, kv, {}, {}, 1});
    }
    most.add(LinearFwd{most.compute({1, s.C}), &head, most.compute({1, head.num_rows()})});
}

Bytes workspace_for(const Kernels& kernels, const RankShapes& s, const RankLayout& layout,
                    const Weights& weights, AttentionNumbers attention, CacheLink cache) {
    MostWorkspace most(kernels);
    for (const LayerWeights* w : weights.layers_by_form()) {
        for (const LinearWeight* linear :
             {&w->q, &w->k, &w->v, &w->o, &w->gate, &w->up, &w->down}) {
            add_linear(most, *linear, s.tile);
        }
    }
    const TensorView x = most.compute({s.tile, s.C});
    const NormWeight& norm = weights.final_norm();
    most.add(RmsNormBwd{x, x, norm.weight, most.accum({s.tile}), x, norm.grad});
    add_head(most, &weights.longest_head(), s, layout.tensor * weights.num_blocks());
    add_attention(most, s, layout, attention);
    if (cache.extends()) add_decoding(most, s, *cache.cache, weights.longest_head());
    if (weights.state().trains()) most.add(SumSquares{weights.state().all_grads()});
    return most.bytes();
}

}  // namespace

// Members in the order of their making; what is kept lives from a layer's forward to its backward.
struct Model::MicroPass {
    MicroPass(Model& m, PassKind kind, const SequenceRuns& sequence)
        : model(m),
          runs(sequence),
          keeps(kind == PassKind::train),
          has_head(kind != PassKind::hidden && kind != PassKind::prompt) {
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
    BlockContext context(const BlockListener& listener, LayerPass of) {
        return {model.tile_context(), runs, rotary, model.attention_, listener, of};
    }
    // Keeps the layer's input; `all` may be there, with what else it keeps.
    void keep(LayerInput input, std::optional<LayerKept> all) {
        input.drop_unrounded();
        if (!all) return kept.emplace_back(std::move(input)), void();
        all->input = std::move(input);
        kept.push_back(std::move(*all));
    }
    // The residual stream into a layer, or out of the last one. A group that runs again keeps all.
    TokenStore residual(int layer, LayerPass of) const {
        const bool passes = keeps && of == LayerPass::forward && !model.groups_.keeps_input(layer);
        return residual_store(model.memory_, {"x", layer},
                              passes ? Residual::passing : Residual::kept, model.shapes_.Ts,
                              model.shapes_.C);
    }
    Windows windows() const { return {model.memory_, model.layout_, model.layout_.lanes()}; }

    Model& model;
    const SequenceRuns& runs;
    const bool keeps;
    const bool has_head;
    RotaryTables rotary;
    TokenStore x;  // (Ts, C) compute: into the next layer
    std::vector<LayerKept> kept;
};

Model::Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
             const RankLayout& layout, RopeFrequencies rope, const ModelRounding& rounding,
             PassMemory& passes, CacheLink cache)
    : config_(config),
      weights_(weights),
      layout_(layout),
      shapes_(config, layout),
      groups_(static_cast<int>(config.num_layers), layout.memory.keep_every),
      rope_(std::move(rope)),
      passes_(passes),
      memory_(streams, passes.device(), passes.host(), layout.memory),
      tokens_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      targets_(streams.kernels.device(), MemoryKind::data, DType::i32, {shapes_.T}),
      tiles_(streams, shapes_, layout, rounding.messages.tensor),
      workspace_(streams.kernels.device().allocate(
          workspace_for(streams.kernels, shapes_, layout, weights, rounding.attention, cache),
          MemoryKind::workspace)),
      ops_(streams.kernels, {workspace_.data(), workspace_.size()}, streams.compute, &memory_),
      attention_(streams, memory_, config, layout, shapes_,
                 {rounding.attention, rounding.messages.ulysses}, cache, ops_, timers_.attention),
      lanes_(make_lanes(streams.kernels, shapes_, layout, !attention_.heads().direct(),
                        weights.precision())),
      head_({tile_context(), shapes_, weights, targets_}) {}

// Rotary tables of these tokens.
void Model::queue_rotary(MicroPass& pass) {
    const auto make = [&](std::string_view what) {
        return working_store(memory_, {what}, memory_.types().accum, {shapes_.T, shapes_.D / 2});
    };
    pass.rotary.cos = make("cos");
    pass.rotary.sin = make("sin");
    Windows windows = pass.windows();
    const TileWindow cos = windows.write(pass.rotary.cos, Rows::tokens);
    const TileWindow sin = windows.write(pass.rotary.sin, Rows::tokens);
    auto runs = pass.runs.by_chunk.begin();
    windows.for_each_chunk([&](const Chunk& /*chunk*/) {
        ops_(RopeTable{*runs++, rope_.inv_freq, rope_.attention_factor, cos.chunk(), sin.chunk()});
    });
}

// Every token is in one part, and the others give it zeros.
void Model::queue_embedding(MicroPass& pass, TokenStore& x) {
    const int parts = weights_.num_embedding_parts();
    for (int part = 0; part < parts; ++part) {
        const bool last = part + 1 == parts;
        const int next = last ? table().layer_unit(0) : table().embedding_unit + part + 1;
        weights_.prefetch(ops_, next);
        const EmbeddingRows rows = weights_.acquire_embedding(ops_, part);
        queue_lookups(pass, rows, x, part == 0 ? Into::overwrite : Into::add);
        weights_.release_embedding(part);
        weights_.send_prefetched(next);
        if (!last) memory_.settle();
    }
}

void Model::queue_lookups(MicroPass& pass, const EmbeddingRows& table, TokenStore& x, Into into) {
    Windows windows = pass.windows();
    const TileWindow at_x =
        windows.on(&x, Rows::shards, into == Into::add ? RowAccess::update : RowAccess::write);
    windows.for_each([&](const Tile& tile) { return look_up(table, tile, at_x(tile), into); });
}

TileTask Model::look_up(const EmbeddingRows& table, Tile tile, TensorView x, Into into) {
    const TensorView tokens = at(tokens_, tile.range);
    if (layout_.tensor == 1 && into == Into::overwrite) {
        ops_(EmbeddingFwd{tokens, table.rows, x, table.share});
        co_return;
    }
    ops_(EmbeddingFwd{tokens, table.rows, tiles_.partial(tile), table.share});
    const TensorView found = co_await tiles_.reduce(ops_, tile);
    if (into == Into::add) {
        ops_(Add{found, x});
    } else {
        ops_(Copy{found, x});
    }
}

void Model::queue_embedding_grad(MicroPass& pass, TokenStore& d_x) {
    for (int block = 0; block < weights_.num_blocks(); ++block) {
        const EmbeddingRows d_table = weights_.acquire_embedding_grad(ops_, block);
        if (block > 0) memory_.settle();
        Windows windows = pass.windows();
        const TileWindow at_d_x = windows.read(d_x, Rows::shards);
        windows.for_each(
            [&](const Tile& tile) { return look_up_grad(d_table, tile, at_d_x(tile)); });
        weights_.release_embedding_grad(ops_, block);
    }
}

TileTask Model::look_up_grad(const EmbeddingRows& d_table, Tile tile, TensorView d_x) {
    const TensorView d = co_await tiles_.gather(ops_, tile, d_x);
    ops_(EmbeddingBwd{at(tokens_, tile.range), d, d_table.rows, d_table.share});
}

void Model::show_residual(int layer, const TokenStore& x) const {
    if (!watcher_ || kept_place(layout_.memory) == TokenStore::Place::host) return;
    watcher_(layer, x.whole());
}

void Model::queue_forward(MicroPass& pass) {
    const auto num_layers = static_cast<int>(config_.num_layers);
    timers_.forward.begin(ops_.stream());
    queue_rotary(pass);
    weights_.prefetch(ops_, table().embedding_unit);
    pass.x = pass.residual(0, LayerPass::forward);
    queue_embedding(pass, pass.x);
    show_residual(0, pass.x);
    for (int layer = 0; layer < num_layers; ++layer) {
        const bool last = layer + 1 == num_layers;
        const int after = pass.has_head ? table().head_unit : kNoUnit;
        const int next = last ? after : table().layer_unit(layer + 1);
        weights_.prefetch(ops_, next);
        const LayerWeights& weights = weights_.acquire(ops_, layer, LayerPass::forward);
        const BlockListener sender{{}, [&] { weights_.send_prefetched(next); }};
        TokenStore x_next = pass.residual(layer + 1, LayerPass::forward);
        LayerInput input(std::move(pass.x));
        const bool keeps_input = pass.keeps && groups_.keeps_input(layer);
        if (keeps_input) input.make_rounded(memory_, layer);
        std::optional<LayerKept> kept;
        if (pass.keeps && groups_.keeps_all(layer)) kept.emplace(memory_, layout_, shapes_, layer);
        block_forward(pass.context(sender, LayerPass::forward), weights, layer, input, x_next,
                      kept ? &*kept : nullptr);
        weights_.release(ops_, layer, LayerPass::forward);
        show_residual(layer + 1, x_next);
        if (keeps_input) pass.keep(std::move(input), std::move(kept));
        pass.x = std::move(x_next);
    }
    timers_.forward.end(ops_.stream());
}

// Queues the most urgent first: the first hop of this layer's ring, then the weights of the next
// layer, the other hops, and last the gradients of the layer before, for which no pass waits.
void Model::queue_backward(MicroPass& pass, TokenStore& d_x, Accumulate accumulate) {
    const int after = accumulate == Accumulate::more ? table().embedding_unit : kNoUnit;
    const std::vector<LayerVisit> visits = groups_.backward();
    std::optional<int> formed;  // the layer whose gradients have yet to be sent
    for (std::size_t i = 0; i < visits.size(); ++i) {
        const auto [layer, work] = visits[i];
        const int next = i + 1 < visits.size() ? table().layer_unit(visits[i + 1].layer) : after;
        weights_.prefetch(ops_, next);
        const auto send_weights = [&] { weights_.send_prefetched(next); };
        const BlockListener sender{[&] {
                                       // The tiles of a tensor group would wait for them.
                                       if (tiles_.size() == 1) send_weights();
                                   },
                                   [&] {
                                       send_weights();
                                       if (formed) weights_.send_gradients(*formed);
                                       formed.reset();
                                   }};
        if (work == LayerPass::again) {
            queue_again(pass, layer, sender);
        } else {
            queue_block_backward(pass, layer, sender, d_x);
            formed = layer;
        }
    }
    weights_.send_gradients(0);
    queue_embedding_grad(pass, d_x);
}

// Runs the layer whose input was kept last, which then keeps all, and keeps the next one's input.
void Model::queue_again(MicroPass& pass, int layer, const BlockListener& listener) {
    const LayerWeights& weights = weights_.acquire(ops_, layer, LayerPass::again);
    LayerInput input = std::move(pass.kept.back().input);
    pass.kept.pop_back();
    TokenStore x_next = pass.residual(layer + 1, LayerPass::again);
    if (input.rounded.empty()) input.make_rounded(memory_, layer);
    LayerKept kept(memory_, layout_, shapes_, layer);
    block_forward(pass.context(listener, LayerPass::again), weights, layer, input, x_next, &kept);
    weights_.release(ops_, layer, LayerPass::again);
    pass.keep(std::move(input), std::move(kept));
    pass.keep(LayerInput(std::move(x_next)), std::nullopt);
}

void Model::queue_block_backward(MicroPass& pass, int layer, const BlockListener& listener,
                                 TokenStore& d_x) {
    const LayerWeights& weights = weights_.acquire(ops_, layer, LayerPass::backward);
    LayerKept kept = std::move(pass.kept.back());
    pass.kept.pop_back();
    block_backward(pass.context(listener, LayerPass::backward), weights, layer, std::move(kept),
                   d_x);
    weights_.release(ops_, layer, LayerPass::backward);
}

void Model::queue_hidden(const SequenceRuns& runs, const TensorView& hidden) {
    MicroPass pass(*this, PassKind::hidden, runs);
    queue_forward(pass);
    {
        Windows windows = pass.windows();
        const TileWindow at_x = windows.read(pass.x, Rows::shards);
        windows.for_each([&](const Tile& tile) {
            const TokenRange shard = shard_of(tile.range, layout_.tensor);
            ops_(RmsNormFwd{at_x(tile), weights_.final_norm().weight, at(hidden, shard),
                            lanes_[0].rstd->rows(0, shard.count), config_.norm_eps});
        });
    }
    pass.end();
}

void Model::queue_prompt(const SequenceRuns& runs) {
    MicroPass pass(*this, PassKind::prompt, runs);
    queue_forward(pass);
    pass.end();
}

void Model::queue_logits(const SequenceRuns& runs, const TensorView& logits) {
    MicroPass pass(*this, PassKind::decode, runs);
    queue_forward(pass);
    head_.queue_logits(std::move(pass.x), logits);
    pass.end();
}

void Model::queue_loss(const SequenceRuns& runs, const TensorView& loss_sum, double* losses) {
    MicroPass pass(*this, PassKind::loss, runs);
    queue_forward(pass);
    head_.queue(std::move(pass.x), {.loss_sum = loss_sum, .losses = losses});
    pass.end();
}

void Model::queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                     const TensorView& loss_sum, Accumulate accumulate) {
    MicroPass pass(*this, PassKind::train, runs);
    queue_forward(pass);
    timers_.backward.begin(ops_.stream());
    weights_.begin_backward(accumulate);
    {
        TokenStore d_x =
            working_store(memory_, {"d_x"}, memory_.types().compute, {shapes_.Ts, shapes_.C});
        head_.queue(std::move(pass.x), {scale, loss_sum, &d_x});
        queue_backward(pass, d_x, accumulate);
    }
    timers_.backward.end(ops_.stream());
    pass.end();
}

}  // namespace rm
