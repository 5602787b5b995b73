#pragma once

#include <map>
#include <string>

#include "engine/dry_run/predict.h"
#include "engine/dry_run/steady_chunks.h"
#include "engine/train/dry_rank.h"

namespace rm {

// A rank's steady step as its engine queued it.
struct RecordedRank {
    StepSchedule schedule;         // with the ranges of transfers
    std::size_t first_item = 0;    // of the step; earlier items lead up to it
    bool update_prepares = false;  // all weights at once; else the passes do, one by one
    ArenaTrace device, host;       // of a training pass, which needs the most of all passes
    MemoryReport state;
};

// Errors of RankEngine::enter.
Result<RecordedRank> record_rank(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options);

// The state alone, without a step.
Result<MemoryReport> record_state(const RankSpec& spec, const StageShape& shape,
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
StepFigures figures_of(const RecordedRank& record, const ClockedSchedule& before,
                       const ClockedSchedule& clocked);
// The part of the schedule before first_item.
StepSchedule leading_part(const RecordedRank& record);

// few + periods * (more - few), figure by figure.
StepFigures extrapolate(const StepFigures& few, const StepFigures& more, std::int64_t periods);

// A prediction's input from one rank that is clocked alone.
struct RankOutline {
    StepFigures figures;
    ArenaTrace device, host;
};
// Steady mode takes it from samples of the chunks where there are many.
Result<RankOutline> outline_rank(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options);

}  // namespace rm
