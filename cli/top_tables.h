#pragma once

#include <string>
#include <vector>

#include "cli/job_tables.h"

// What `top` shows. Pure: a reply in.
namespace rm {

// Lines of one job: its state and last step, and the rank that the others wait for.
std::vector<Cell> top_heading(const pb::TopJob& job, WallTime now);
// JOB RANK NODE DEVICE STEP TIME WORK MFU MEMORY HOST WAIT RING PHASE QUIET, a row per rank. TIME
// is of its last step, WORK what is left of it without waiting for other ranks, WAIT and RING the
// shares that were waiting for others and for hops of the ring alone.
Table top_table(const pb::TopReply& reply, Detail detail);
// NODE HOST RANKS WORK MEMORY HOST-MEMORY WAIT QUIET, a row per node that has ranks: the slowest
// rank's work, sums of memory, the mean share of waiting, the longest quiet.
Table top_nodes_table(const pb::TopReply& reply, Detail detail);

}  // namespace rm
