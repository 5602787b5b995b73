#pragma once

#include "base/result.h"
#include "engine/run/rank_parts.h"

// Exports the trained model as spec.exports says. Collective: all ranks call these and get the same
// outcome.
namespace rm {

// Before the first step: checks that the model could be written to its place.
Status try_export_place(RankParts& parts);
// After the last step. False: the export may not be published. If no checkpoint holds the model, a
// failed export is tried once more beside its place, and the error names that path.
Result<bool> export_model(RankParts& parts);

}  // namespace rm
