#pragma once

#include "engine/hf/export.h"
#include "engine/train/checkpointer.h"
#include "engine/train/meeting.h"
#include "engine/train/rank_engine.h"
#include "engine/train/run_rank.h"

namespace rm {

// Gives the trained model away as spec.exports says. Collective: all ranks call it and get the same
// outcome.
class ModelExport {
public:
    // Borrows all.
    ModelExport(const RankConfig& config, const ModelConfig& model, RankEnvironment& environment,
                RankEngine& engine, Meeting& meeting, const Checkpointer& checkpointer,
                Faults& faults);

    // Before the first step: whether the model could be written where it is to go.
    Status try_place();
    // After the last. False: it may not take its place. Where no checkpoint keeps the model, an
    // export that fails is tried once more beside its place, and the error says where that is.
    Result<bool> run();

private:
    bool is_first() const { return config_.rank == 0; }
    HfExport options(const std::string& path) const;
    StorageType type() const;
    Result<bool> write_to(const std::string& path);
    Status everyone(const Status& mine);
    Error rescue(const Error& failed);
    Status ask_to_publish();

    const RankConfig& config_;
    const ModelConfig& model_;
    RankEnvironment& env_;
    RankEngine& engine_;
    Meeting& meeting_;
    const Checkpointer& checkpointer_;
    Faults& faults_;
};

// The rotary embedding of a stage.
RopeConfig rope_of(const ModelConfig& model, const StageSpec& stage);

}  // namespace rm
