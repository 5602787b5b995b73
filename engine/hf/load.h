#pragma once

#include "base/fault.h"
#include "base/result.h"
#include "engine/hf/directory.h"
#include "engine/model/weight_state.h"

namespace rm {

// Fills the master weights that this rank holds and zeroes both moments; every element is exact.
// Rotary pairs are (i, i + D/2), in Hugging Face's files as in our kernels, so q and k are taken as
// they lie. A tied head that is stored must equal the embedding. Host side, while no work is
// queued. `activity` counts bytes and ends it; null: nobody watches.
Status load_hf_weights(const HfDirectory& directory, WeightState& weights,
                       Activity* activity = nullptr);

}  // namespace rm
