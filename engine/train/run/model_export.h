#pragma once

#include "base/result.h"
#include "engine/train/run/rank_parts.h"

// Gives the trained model away as spec.exports says. Collective: all ranks call these and get the
// same outcome.
namespace rm {

// Before the first step: whether the model could be written where it is to go.
Status try_export_place(RankParts& parts);
// After the last. False: it may not take its place. Where no checkpoint keeps the model, an export
// that fails is tried once more beside its place, and the error says where that is.
Result<bool> export_model(RankParts& parts);

}  // namespace rm
