#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/kv_stream.h"
#include "engine/windows/rank_layout.h"
#include "kernels/kernels.h"

namespace rm {

// Rotated keys and values of one document, by layer, for the tokens that follow it. Those of the
// prompt lie where its forward pass leaves them: the slot's S tokens of this rank's heads, whole on
// the device or, in windows, on the host. New tokens follow on the device, each on one ring slot: a
// slot has room for as many as any other, and they fill the slots in their order.
class KvCache {
public:
    // `prompt`: the layout of the longest prompt; `most_new`: tokens on all slots.
    KvCache(Kernels& kernels, const ModelConfig& model, const RankLayout& prompt,
            std::int64_t most_new);

    // Pinned.
    Bytes host_bytes() const { return {static_cast<std::int64_t>(host_memory_.bytes().size())}; }
    std::int64_t most_new() const { return most_new_; }
    std::int64_t num_new() const { return num_new_; }
    std::int64_t num_tokens() const { return prompt_tokens_ + num_new_; }

    // Forgets all. `runs`: the prompt's, borrowed; of one document of `tokens`.
    void begin(const SequenceRuns& runs, std::int64_t tokens);
    // Forgets the new tokens; the prompt stays.
    void rewind() { num_new_ = 0; }
    // One more token, whose keys and values the next pass makes.
    void extend();

    // The prompt's: a pass writes them, later ones read them chunk by chunk.
    KeyValue prompt(int layer) const;
    std::span<const SlotChunk> prompt_chunks() const { return prompt_chunks_; }
    std::int64_t most_chunk_rows() const { return most_chunk_rows_; }

    // The new tokens of this slot, the latest included.
    KvBlock added(int layer) const;
    // Where the latest token's keys and values go, (1, Hk, D) each; empty: to another slot.
    bool takes_latest() const;
    TensorView latest_k(int layer) const { return latest(k_of(added_, layer)); }
    TensorView latest_v(int layer) const { return latest(v_of(added_, layer)); }

private:
    static TensorView k_of(const TensorView& all, int layer) { return block(all, 2 * layer); }
    static TensorView v_of(const TensorView& all, int layer) { return block(all, 2 * layer + 1); }
    static TensorView block(const TensorView& all, int index);
    TensorView latest(const TensorView& rows) const;
    std::int64_t added_here() const;

    std::int64_t most_new_;
    std::int64_t per_slot_;  // new tokens
    int slot_;
    TokenStore::Place place_;
    Tensor device_memory_;  // one of these holds prompt_
    PinnedBuffer host_memory_;
    TensorView prompt_;  // (2 layers, S, Hk, D) compute: keys, then values of each layer
    Tensor added_;       // (2 layers, per_slot, Hk, D) compute
    std::int64_t most_chunk_rows_;

    std::int64_t prompt_tokens_ = 0;
    std::int64_t num_new_ = 0;
    std::span<const SlotChunk> prompt_chunks_;
    Run added_run_;
};

// A model's part in a cache: fills in the prompt, or extends it token by token.
enum class CacheUse { none, fill, extend };
struct CacheLink {
    KvCache* cache = nullptr;
    CacheUse use = CacheUse::none;

    bool fills() const { return use == CacheUse::fill; }
    bool extends() const { return use == CacheUse::extend; }
};

}  // namespace rm
