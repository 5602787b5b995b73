#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/data/mixed_stream.h"
#include "engine/windows/rank_layout.h"
#include "spec/mesh.h"

namespace rm {

// One rank's share of one sequence: the contents of Model::tokens and Model::targets.
struct MicroBatch {
    std::vector<std::int32_t> tokens;   // (T), local token order; 0 where there is none
    std::vector<std::int32_t> targets;  // (T), kIgnoreTarget where there is none
    // (T): from how many tokens of its document a target is predicted, its own not among them; 0
    // where there is no target.
    std::vector<std::int32_t> contexts;
    SequenceRuns runs;
};

struct StepBatch {
    std::vector<MicroBatch> micro_batches;
    std::int64_t num_targets = 0;     // of the whole step, all ranks
    std::int64_t attended_pairs = 0;  // query-key pairs of the whole step, all ranks
};

// A sequence of up to `layout.padded` tokens, or one more that is only a target.
MicroBatch make_micro_batch(const Sample& sequence, const RankLayout& layout, Positions positions);

// Cuts sequences for this rank: sequence n of a step is micro-batch n / data of data rank n mod
// data; where the sequences do not fill the last micro-batch, it is all padding. If documents
// are separate, no target is the first token of the next document.
StepBatch make_step_batch(const std::vector<Sample>& sequences, const RankLayout& layout,
                          const Mesh& mesh, int rank, Positions positions);

// The next `count` sequences of the stream. The same on every rank.
Result<std::vector<Sample>> take_sequences(MixedStream& stream, std::int64_t count,
                                           std::int64_t context);

}  // namespace rm
