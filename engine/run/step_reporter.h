#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"
#include "spec/report.h"

namespace rm {

// The report of a rank whose network has connected.
ConnectedReport connected_report(const Network& network, const Communicator& communicator);

// Makes a rank's step reports from the counters of its engine, its network and its devices.
class StepReporter {
public:
    explicit StepReporter(RankParts& parts);  // borrowed

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

    RankParts& parts_;
    const std::set<int> sources_;  // the ranks before this one on the rings of attention
    std::map<std::string, std::int64_t> sent_before_;  // by axis
};

}  // namespace rm
