#pragma once

#include <string>

#include "base/fault.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/model/whole_weights.h"

namespace rm {

struct HfExport {
    std::string path;                       // the directory to write
    StorageType dtype = StorageType::bf16;  // or f32
    Bytes max_shard = {5'000'000'000};      // of a file's tensors, where one alone fits
    std::string source;                     // the directory it started from; empty: none
    std::string tokenizer;                  // data.tokenizer; empty or `bytes`: no files
    std::int64_t context = 0;               // tokens, the longest trained
    Epoch epoch;                            // of the attempt: each writes aside under its own name
};

// An export that is written and synced but not yet in its place.
struct StagedExport {
    std::string temporary;
    std::string target;
};

// Tests whether stage_hf and publish_hf could write at `options.path`: makes its parent and, for
// the moment, a directory beside it. already_exists and invalid_argument as from stage_hf.
Status try_hf_place(const HfExport& options, Faults& faults);

// Writes `weights` as a Hugging Face directory: config.json, weights in one file or in shards with
// an index, the other files of `source` (tokenizer, licence, ...; no weights), and the files of
// `tokenizer`. The model was trained with that tokenizer and with `model.rope`. Written beside
// `path`, synced and, by publish_hf, renamed: a reader sees all of it or nothing. Replaces an
// earlier export at `path`; anything else there is already_exists and left alone; weights that are
// not finite are out_of_range. Host side, while no work is queued; rank 0 while the others serve.
Result<StagedExport> stage_hf(const HfExport& options, const ModelConfig& model,
                              WeightSource& weights, Faults& faults);
// Renames the staged directory into place and removes those that lower epochs left.
Status publish_hf(const StagedExport& staged, Epoch epoch, Faults& faults);
// Removes the staged directory.
Status discard_hf(const StagedExport& staged, Faults& faults);

}  // namespace rm
