#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/show/table.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "service/convert/convert.h"

// Messages as tables. Pure: messages and the time in.
namespace rm {

// ID NAME STATE CTX STEP LOSS MFU TOK/S DEVICES ETA COST AGE
Table jobs_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now);
// One row per attempt, the newest first, with its cause of death.
Table history_table(const std::vector<pb::Job>& jobs, Detail detail, WallTime now);
// The same with plain numbers and whole times, for other programs.
Table history_csv(const std::vector<pb::Job>& jobs);
Table nodes_table(const std::vector<pb::Node>& nodes, Detail detail, WallTime now);

// Lines about one job: its state and last step, and the rank that the others wait for.
std::vector<Cell> top_heading(const pb::TopJob& job, WallTime now);
// JOB RANK NODE DEVICE STEP TIME WORK MFU MEMORY HOST WAIT RING PHASE QUIET, a row per rank. TIME
// is that of the last step, WORK is TIME without waiting for other ranks, WAIT and RING are the
// shares spent waiting for other ranks and for ring hops alone.
Table top_table(const pb::TopReply& reply, Detail detail);
// NODE HOST RANKS WORK MEMORY HOST-MEMORY WAIT QUIET, a row per node that has ranks: the slowest
// rank's work, sums of memory, the mean share of waiting, the longest quiet.
Table top_nodes_table(const pb::TopReply& reply, Detail detail);

}  // namespace rm
