#pragma once

#include <string>
#include <vector>

#include "engine/dry_run/predict.h"

// Shows users the timeline of a step.
namespace rm {

struct StepTimeline {
    struct Busy {
        double begin = 0, end = 0;
    };
    struct Stream {
        std::string name;
        std::vector<Busy> busy;  // ascending
    };
    // Seconds of the step. Where work takes no time, each request and release of a buffer counts
    // as one, here and in the times below.
    double length = 0;
    bool timed = false;
    std::vector<LiveBytes> device, host;  // of the arenas, from 0 on
    std::vector<Stream> streams;
    MemoryReport state;
};

// Every layer of rank `spec.rank`, whatever the options' mode; in steady mode from samples of the
// chunks of a long context, where streams are busy as in the longest sample. Errors: those of
// predict.
Result<StepTimeline> timeline_of(const RankSpec& spec, const StageShape& shape,
                                 const DryRunOptions& options);

// The most bytes in each of `count` equal parts of the time.
std::vector<Bytes> most_by_part(const std::vector<LiveBytes>& live, double length,
                                std::size_t count);

// The share of each of `count` equal parts of the time in which a stream works: 0 to 1.
std::vector<double> busy_by_part(const std::vector<StepTimeline::Busy>& busy, double length,
                                 std::size_t count);

// Live bytes as rows of characters, 64 wide, with the peak at the left.
std::string plot(const std::vector<LiveBytes>& live, double length);

// Draws the memory of the device by kind, that of the host, and the busy times of each stream.
std::string to_svg(const StepTimeline& timeline, const std::string& title);

}  // namespace rm
