#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/train/rank_engine.h"
#include "engine/train/run_rank.h"
#include "engine/train/run_state.h"

namespace rm {

// Makes a rank's step reports of what its engine, its transport and its devices count.
class StepReporter {
public:
    // Borrows all; the environment's transport and kernels outlive it.
    StepReporter(const RankConfig& config, const ModelConfig& model, RankEnvironment& environment,
                 RankEngine& engine);

    struct Done {
        const StepResult& result;
        const StepInput& input;
        const TrainPosition& position;  // after it
    };
    // Once for each step, in order: traffic is counted since the last call.
    StepReport make(const Done& step);

private:
    MemoryReport memory() const;
    std::map<std::string, AxisTraffic> traffic(const StepResult& result);
    std::map<int, HopRate> hops();
    void add_rates(const Done& step, StepReport& report) const;

    const RankConfig& config_;
    const ModelConfig& model_;
    RankEnvironment& env_;
    RankEngine& engine_;
    const std::set<int> sources_;
    std::map<std::string, std::int64_t> sent_before_;  // by axis
};

}  // namespace rm
