#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fault.h"
#include "engine/checkpoint/directory_lock.h"
#include "engine/data/training_data.h"
#include "engine/run/data_study.h"
#include "engine/run/run_rank.h"
#include "engine/train/rank_engine.h"
#include "engine/train/save/checkpointer.h"
#include "engine/train/save/meeting.h"
#include "engine/train/save/trained_model.h"

namespace rm {

// Kernels that update state on the host; null where the state is on the device.
std::unique_ptr<Kernels> make_host_kernels(const RankConfig& config);

// `host`: of make_host_kernels, borrowed.
RankSpec rank_spec_of(const RankConfig& config, const ModelConfig& model, Kernels* host);

// Everything that one rank's run works with, from its first step to its last. In order of
// construction: a member borrows only from those above it and ends before them.
struct RankParts {
    RankParts(const RankConfig& config, const RankEnvironment& environment,
              const ModelConfig& model, std::unique_ptr<Kernels> host);
    RankParts(const RankParts&) = delete;
    RankParts& operator=(const RankParts&) = delete;

    bool is_first() const { return config.rank == 0; }
    bool only_evaluates() const { return config.spec.num_steps() == 0; }
    // The time for `tokens` tokens that look at `pairs` pairs of tokens, forward and backward: from
    // the work, at a tenth of the peak.
    double estimated_seconds(double tokens, double pairs) const;
    // Passes a note to the user on rank 0; does nothing on other ranks.
    void note(const std::string& text) const;
    // Adds a line to metrics.jsonl on rank 0, if the run has a directory.
    void append_metrics(const std::string& json) const;

    const RankConfig& config;
    RankEnvironment env;
    const ModelConfig model;
    std::optional<TrainingData> data;     // from check_before_start() on
    std::optional<TrainedModel> trained;  // that the run only evaluates
    const std::unique_ptr<Kernels> host;  // null: state lives on the device
    RankEngine engine;
    Faults no_faults;
    Faults& faults;
    Meeting meeting;
    DirectoryLock directory;  // rank 0, of the checkpoints
    Checkpointer checkpointer;
    DataStudy study;
};

}  // namespace rm
