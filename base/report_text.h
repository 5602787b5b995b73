#pragma once

#include <string>
#include <string_view>

#include "base/report.h"

// Formats reports as lines for people: in ring-train, in rank logs and on the command line.
namespace rm {

// step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s  MFU 46.1% (causal, bf16 362T)
//   mem 41.2 GiB  ring 3.1 GiB exposed 3.0%, tensor 1.2 GiB 0.4%, gradient 512.0 MiB 0.1%
// on one line, without unknown parts. Each axis that moved data shows its bytes and its exposed
// part: the share of the step in which compute waited for it.
std::string step_line(const StepReport& report, std::string_view peak_name);
// rank 2 at 10.77.0.3 sends to rank 3 at 10.77.0.5 and receives from rank 1 at 10.77.0.4
// without a ring: rank 0 at 10.77.0.3 is connected to rank 1 at 10.77.0.5
std::string connected_line(const ConnectedReport& report);
// The line for a report with has_diverged().
std::string diverged_line(const StepReport& r);
std::string evaluation_line(const EvaluationReport& report);
// Stages count from 0 in the code and from 1 for people.
std::string stage_done_line(int stage, std::int64_t step);

}  // namespace rm
