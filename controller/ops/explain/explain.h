#pragma once

#include <string>
#include <vector>

#include "controller/core/input.h"
#include "controller/core/state.h"
#include "controller/discovery/reconcile.h"
#include "ringmaster/v1/job.pb.h"

// Explains a job's status by findings from a state and a step report. Pure. Every finding names
// its subject ("node n1", "rank 3", "queue"), the facts with their numbers, and, where one
// exists, the nearest change that would help.
namespace rm {

namespace pb = ringmaster::v1;

using Findings = std::vector<pb::Finding>;

// Returns all findings about `job` at `now`; never empty.
Findings explain(const State& state, const Job& job, const Now& now);

// Machines of the provider without a worker, whose devices a job that waits could have. Empty where
// there are none.
Findings explain_machines(const MachinesView& view);
// Whether the job waits for devices, and not for files, money or its turn alone.
bool waits_for_devices(const Job& job);

// Describes what a live attempt is doing, node by node and rank by rank.
Findings explain_attempt(const State& state, const Attempt& attempt, WallTime now);

// Holds an attempt's plan against it: the time of a step, and the money. Empty where nothing was
// predicted.
Findings explain_plan(const Attempt& attempt, WallTime now);

// Whether the worker of rank 0 can report its steps.
enum class StepsAre { reported, cut_off };
StepsAre steps_are(const State& state, const Job& job);
// Reports anything unusual about the last step of a running job: compute that waited, a skipped
// step, or no step for long although a worker can report it. Empty if nothing was.
Findings explain_step(const pb::StepReport& step, WallTime now, StepsAre steps);

// Finds that the loss at the last step of a running or ended job is far from where it began.
Findings explain_divergence(const pb::StepReport& step);

// The steps of one rank, newest first; all of one attempt.
struct RankPace {
    int rank = 0;
    DeviceId device;
    std::vector<StepReport> steps;
};
constexpr int kPaceSteps = 64;  // steps that explain_pace() examines

// Explains the speed of an attempt from the steps of its ranks, by rank: how rank 0 spends its
// time, whether steps take longer than they did, and the rank that the others wait for.
// Empty before the third step.
Findings explain_pace(const std::vector<RankPace>& ranks);

// For the sources of explain() only.
pb::Finding info(std::string subject, std::string text, std::string remedy = "");
pb::Finding blocking(std::string subject, std::string text, std::string remedy = "");
pb::Finding problem(std::string subject, std::string text, std::string remedy = "");

}  // namespace rm
