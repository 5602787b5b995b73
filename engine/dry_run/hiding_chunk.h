#pragma once

#include <cstdint>

#include "engine/windows/rank_layout.h"
#include "kernels/meta/device_profile.h"
#include "spec/precision/attention_numbers.h"

namespace rm {

// The shortest chunks, in tokens of a rank and whole tiles, whose attention takes as long as the
// transfers that it needs: the rule of FPDT (arXiv:2408.16978), which for bf16 is about
// Hk / Hq x FLOP/s / (bytes/s) tokens of the slot in the forward pass. There each chunk of keys and
// values is brought for a chunk of queries. In the backward pass each chunk of queries, with its
// gradients, is brought for a chunk of keys and written back.
struct HidingChunks {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
};
// In windows of `layout`'s mesh, for numbers of `types`.
HidingChunks hiding_chunks(const ModelConfig& model, const RankLayout& layout,
                           const NumericTypes& types, const DeviceProfile& profile,
                           AttentionNumbers numbers = AttentionNumbers::compute);

}  // namespace rm
