#pragma once

#include <vector>

#include "base/clock.h"
#include "cli/table.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "service/convert.h"

// Messages as tables. Pure: messages and the time in.
namespace rm {

enum class Detail { usual, wide };

// ID NAME STATE CTX STEP LOSS MFU TOK/S DEVICES ETA COST AGE
Table jobs_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now);
// One row per attempt, the newest first, with its cause of death.
Table history_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now);
// The same with plain numbers and whole times, for other programs.
Table history_csv(const std::vector<pb::Job>& jobs);
Table nodes_table(const std::vector<pb::Node>& nodes, Detail detail, WallTime now);

}  // namespace rm
