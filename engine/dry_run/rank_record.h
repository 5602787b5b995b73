#pragma once

#include <map>
#include <string>

#include "engine/dry_run/predict.h"
#include "engine/dry_run/steady_chunks.h"
#include "engine/train/dry_rank.h"

namespace rm {

// One rank's steady step, as it was queued.
struct RankRecord {
    StepSchedule schedule;
    std::size_t first_item = 0;    // of the step; what is before leads to it
    bool update_prepares = false;  // weights, at once; else the passes do, as they come to them
    ArenaTrace device, host;       // of a training pass, which needs the most of all passes
    MemoryReport state;
};

// Errors of RankEngine::enter.
Result<RankRecord> record_rank(const RankSpec& spec, const StageShape& shape,
                               const DryRunOptions& options);

// The figures of a step that add up over layers.
struct StepFigures {
    double seconds = 0;
    std::map<std::string, double> phases;
    std::map<std::string, double> busy;
    std::map<std::string, Bytes> moved;
    std::map<std::string, Bytes> state;
    double flops = 0;
};
// `before` is the clocked schedule up to first_item, `clocked` all of it.
StepFigures figures_of(const RankRecord& record, const ClockedSchedule& before,
                       const ClockedSchedule& clocked);
// The record's beginning alone.
StepSchedule leading_part(const RankRecord& record);

// few + periods * (more - few), figure by figure.
StepFigures extrapolate(const StepFigures& few, const StepFigures& more, std::int64_t periods);
// Computes the figures of the whole context from its samples.
StepFigures extrapolate(const std::array<StepFigures, 3>& samples, const SteadyChunks& chunks);

// The figures that a prediction takes from one rank that is clocked alone.
struct RankOutline {
    StepFigures figures;
    ArenaTrace device, host;
};
// In steady mode of a sample of the chunks, where there are many.
Result<RankOutline> outline_rank(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options);

}  // namespace rm
