#include "engine/attention/kv_cache.h"

#include <algorithm>

namespace rm {

KvCache::KvCache(Kernels& kernels, const ModelConfig& model, const RankLayout& prompt,
                 std::int64_t most_new)
    : most_new_(most_new),
      per_slot_((most_new + prompt.ring - 1) / prompt.ring),
      slot_(prompt.ring_slot),
      place_(working_place(prompt.memory)),
      most_chunk_rows_(prompt.in_windows() ? prompt.max_slot_chunk : prompt.slot_tokens) {
    RM_CHECK(most_new > 0, "a cache for {} new tokens", most_new);
    const RankShapes shapes(model, prompt);
    const DType compute = kernels.types().compute;
    const std::int64_t blocks = 2 * model.num_layers, Hk = shapes.attended_kv, D = shapes.D;
    prompt_ = TensorView(nullptr, compute, {blocks, shapes.S, Hk, D});
    if (place_ == TokenStore::Place::host) {
        host_memory_ = PinnedBuffer(kernels.device(), prompt_.num_bytes());
        prompt_ = TensorView(host_memory_.data(), compute, {blocks, shapes.S, Hk, D});
    } else {
        device_memory_ =
            Tensor(kernels.device(), MemoryKind::activations, compute, {blocks, shapes.S, Hk, D});
        prompt_ = device_memory_;
    }
    added_ = Tensor(kernels.device(), MemoryKind::activations, compute, {blocks, per_slot_, Hk, D});
}

TensorView KvCache::block(const TensorView& all, int index) {
    return all.rows(index, 1).reshaped({all.dim(1), all.dim(2), all.dim(3)});
}

void KvCache::begin(const SequenceRuns& runs, std::int64_t tokens) {
    prompt_tokens_ = tokens;
    num_new_ = 0;
    prompt_chunks_ = runs.key_chunks[usize(slot_)];
}

void KvCache::extend() {
    RM_CHECK(num_new_ < most_new_, "a cache of {} new tokens is full", most_new_);
    ++num_new_;
    added_run_ = {0, prompt_tokens_ + slot_ * per_slot_, added_here()};
}

KeyValue KvCache::prompt(int layer) const {
    return {TokenStore({"k", layer}, place_, k_of(prompt_, layer)),
            TokenStore({"v", layer}, place_, v_of(prompt_, layer))};
}

std::int64_t KvCache::added_here() const {
    return std::clamp<std::int64_t>(num_new_ - slot_ * per_slot_, 0, per_slot_);
}

KvBlock KvCache::added(int layer) const {
    const std::int64_t count = added_here();
    return {k_of(added_, layer).rows(0, count), v_of(added_, layer).rows(0, count),
            std::span(&added_run_, 1)};
}

bool KvCache::takes_latest() const {
    return (num_new_ - 1) / per_slot_ == slot_;
}

TensorView KvCache::latest(const TensorView& rows) const {
    return rows.rows((num_new_ - 1) % per_slot_, 1);
}

}  // namespace rm
