#pragma once

#include "base/result.h"
#include "engine/hf/directory.h"
#include "engine/model/weights.h"

namespace rm {

// Fills the master weights and zeroes both moments; every element is exact. Rotary pairs are
// (i, i + D/2), in Hugging Face's files as in our kernels, so q and k are taken as they lie. A tied
// head that is stored must equal the embedding. Host side, while no work is queued.
Status load_hf_weights(const HfDirectory& directory, Weights& weights);

}  // namespace rm
