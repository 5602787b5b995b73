#include "engine/model/weights.h"

// Embedding and head: by blocks of rows, which are units.
namespace rm {

bool Weights::is_embedding(int unit) const {
    const int block = unit - table().embedding_unit;
    return block >= 0 && block < num_blocks();
}

void Weights::make_prepared_heads() {
    const Parameter& p = state_.parameter(table().head);
    const auto make = [&](int block) {
        prepared_heads_.push_back(streams_.kernels.make_prepared(
            p.rows_of_block(block).count, p.part_shape[1], WeightForm::compute));
    };
    make(0);
    const int last = num_blocks() - 1;
    for (int block = 1; resident() && block <= last; ++block)
        make(block);
    const bool shorter = p.rows_of_block(last).count < p.rows_of_block(0).count;
    if (!resident() && shorter) make(last);
}

PreparedWeight& Weights::prepared_head(int block) const {
    if (resident()) return *prepared_heads_[usize(block)];
    const Parameter& p = state_.parameter(table().head);
    const bool shorter = p.rows_of_block(block).count < p.rows_of_block(0).count;
    return shorter ? *prepared_heads_.back() : *prepared_heads_.front();
}

void Weights::prepare_head(const Ops& ops, int block) {
    const TensorView flat = whole_unit(table().head_unit + block);
    ops.kernels().prepare(block_rows(flat, block), prepared_head(block), ops.stream());
}

TensorView Weights::block_rows(const TensorView& flat, int block) const {
    const Parameter& p = state_.parameter(table().embedding);
    const std::int64_t rows = p.rows_of_block(block).count;
    return flat.rows(0, rows * p.part_shape[1]).reshaped({rows, p.part_shape[1]});
}

RowShare Weights::share_of(const Part& rows) const {
    const Parameter& p = state_.parameter(table().embedding);
    return {p.part_start + rows.first, p.shape[0]};
}

// The part that is resident. Blocks follow each other without padding.
TensorView Weights::whole_embedding() {
    if (!gathers()) return state_.weight(table().embedding);
    const Parameter& p = state_.parameter(table().embedding);
    const TensorView& first = gather_.own_memory(table().embedding_unit);
    return {first.data(), first.dtype(), {p.part_shape[0], p.part_shape[1]}};
}

// Blocks arrive in their order, so compute waits for the last one.
void Weights::wait_for_embedding(const Ops& ops) {
    const int first = table().embedding_unit, last = first + num_blocks() - 1;
    for (int unit = first; unit < last; ++unit) {
        stage(ops, unit);
        send(unit);
        gather_.of(unit).awaited = true;
        host_stale_[usize(unit)] = false;
    }
    wait_for(ops, last);
}

EmbeddingRows Weights::acquire_embedding(const Ops& ops, int part) {
    const Parameter& p = state_.parameter(table().embedding);
    const int unit = table().embedding_unit + part;
    if (!resident()) {
        wait_for(ops, unit);
        return {block_rows(whole_unit(unit), part), share_of(p.rows_of_block(part))};
    }
    if (gathers()) wait_for_embedding(ops);
    return {whole_embedding(), share_of({0, p.part_shape[0]})};
}

void Weights::release_embedding(int part) {
    if (resident()) return;
    GatherBuffer& buffer = gather_.of(table().embedding_unit + part);
    streams_.order.record(streams_.compute, *buffer.used);
}

HeadRows Weights::acquire_head(const Ops& ops, int block, LayerPass pass) {
    const int unit = table().head_unit + block;
    const bool came = comes(unit);
    if (came) wait_for(ops, unit, pass);
    if (!resident() || host_head_stale_[usize(block)]) prepare_head(ops, block);
    host_head_stale_[usize(block)] = false;
    if (came) streams_.order.record(streams_.compute, *gather_.of(unit).used);
    HeadRows head{{&prepared_head(block), {}},
                  share_of(state_.parameter(table().head).rows_of_block(block))};
    if (pass == LayerPass::backward)
        head.weight.grad = block_rows(open_gradients(ops, unit), block);
    return head;
}

void Weights::release_head(const Ops& ops, int block) {
    if (sums_tied()) return;
    close_gradients(ops, table().head_unit + block, tied() ? Portion::head : Portion::all);
}

EmbeddingRows Weights::acquire_embedding_grad(const Ops& ops, int block) {
    const int unit = table().embedding_unit + block;
    const TensorView flat = sums_tied() ? gradients_of(unit) : open_gradients(ops, unit);
    return {block_rows(flat, block),
            share_of(state_.parameter(table().embedding).rows_of_block(block))};
}

void Weights::release_embedding_grad(const Ops& ops, int block) {
    const bool added = tied() && !sums_tied();
    close_gradients(ops, table().embedding_unit + block, added ? Portion::embedding : Portion::all);
}

}  // namespace rm
