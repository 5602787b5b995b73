#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "spec/report.h"

// Where the wall time of a job goes, from its submission to its end. Pure: see goodput_loop.h for
// where the data comes from.
namespace rm {

// queue: the job waits for devices. start: an attempt has devices, and its first step has not
// begun. restore: it reads a checkpoint or weights. recomputed: it runs a step that an earlier
// attempt has run, or the step that its end cuts off. checkpoint: training waits for one. stall: a
// step takes far longer than usual. straggler: the ranks wait for the slowest. idle: the rest.
enum class Badput { queue, start, restore, recomputed, checkpoint, stall, straggler, idle };
constexpr std::array<std::string_view, 8> kBadputNames = {
    "queue", "start", "restore", "recomputed", "checkpoint", "stall", "straggler", "idle"};

struct TimeSplit {
    double good = 0;  // seconds of steps that ran for the first time
    std::array<double, kBadputNames.size()> bad{};

    double& of(Badput cause) { return bad[static_cast<std::size_t>(cause)]; }
    double of(Badput cause) const { return bad[static_cast<std::size_t>(cause)]; }
    double total() const;
    void add(const TimeSplit& other);
    bool operator==(const TimeSplit&) const = default;
};

// A step as rank 0 has reported it.
struct StepTimes {
    std::int64_t step = 0;
    WallTime end;       // by the rank's clock
    WallTime received;  // by the controller's
    double seconds = 0;
    double checkpoint = 0;  // of the step: waiting for a checkpoint's writer
    double between = 0;     // between the step before and this: saving and publishing
    double loading = 0;     // before the first step: a checkpoint or weights
    double straggler = 0;   // of the step: all ranks but the slowest wait
};
StepTimes times_of(const StepReport& report, WallTime end, WallTime received, double straggler);

// How an attempt has spent its time until the end of its last step that is in here.
struct AttemptAccount {
    Epoch epoch;
    JobId job;
    std::int64_t end_offset = 0;  // in the stream of rank 0's reports: all before it is in here
    std::int64_t last_step = 0;   // 0: none
    std::int64_t reached = 0;     // the last step of all earlier attempts
    WallTime until;
    Seconds clock_offset;  // of the controller's clock from the rank's; the least delay counts
    std::vector<double> recent;  // seconds of the last steps
    TimeSplit split;
    bool operator==(const AttemptAccount&) const = default;
};
// `started`: of the attempt. A step counts once it has ended, so no part of the split ever falls.
void account(AttemptAccount& account, WallTime started, const StepTimes& step);

struct AttemptSpan {
    WallTime started;
    WallTime ended;                           // zero while it lives
    std::int64_t checkpoint_step = 0;         // of its newest checkpoint
    const AttemptAccount* account = nullptr;  // null: no step of it is known
};
struct JobSpan {
    WallTime submitted;
    WallTime ended;                     // zero while it lives
    std::vector<AttemptSpan> attempts;  // oldest first
};
// The parts add up to the time since the submission, less what is not known yet: of an attempt
// that lives or ended less than 10 s ago, the time since its last step.
TimeSplit split_of(const JobSpan& job, WallTime now);

}  // namespace rm
