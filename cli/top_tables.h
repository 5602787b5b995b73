#pragma once

#include <string>
#include <vector>

#include "cli/job_tables.h"

// The tables of `top`. Pure: a reply in.
namespace rm {

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
