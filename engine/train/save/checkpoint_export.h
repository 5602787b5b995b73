#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/train/save/trained_model.h"

namespace rm {

// The master weights of a checkpoint, read and verified block by block: takes no more memory for a
// large model than for a small one.
class CheckpointWeights final : public WeightSource {
public:
    // `checkpoint`: borrowed.
    CheckpointWeights(const Checkpoint& checkpoint, const ModelConfig& model,
                      CheckpointReader::Options options = {});

    const ParameterTable& table() const override { return table_; }
    // data_loss names the damaged file; not_found and failed_precondition a tensor that the
    // checkpoint does not have so.
    Status read(int parameter, const Visitor& visit) override;

private:
    const Checkpoint& checkpoint_;
    CheckpointReader reader_;
    ParameterTable table_;
    std::vector<std::byte> block_;
};

struct CheckpointExport {
    std::string checkpoint;  // a checkpoint, or a directory of checkpoints: the newest whole one
    std::string path;        // the directory to write
    std::optional<StorageType> dtype = {};  // nothing: as the job would have exported
    // Instead of those that the checkpoint records; `none`: no tokenizer, no other files.
    std::string tokenizer = {};
    std::string base = {};  // model.from
};

struct ExportedCheckpoint {
    std::string checkpoint;
    StorageType dtype = StorageType::bf16;
    std::int64_t num_parameters = 0;
    std::vector<std::string> notes;  // what was passed over
};

// Writes a Hugging Face directory of a checkpoint, on any machine that reads it: the bytes that the
// job itself would export at that step. failed_precondition: a tokenizer that is not here;
// otherwise the errors of Checkpoint::open, CheckpointWeights and stage_hf. Point
// checkpoint.slow_read.
Result<ExportedCheckpoint> export_checkpoint(const CheckpointExport& options, Activity& activity,
                                             Faults& faults);

}  // namespace rm
