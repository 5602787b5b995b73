#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "kernels/meta/schedule.h"

// When what is in a schedule happens: streams run side by side, each in order, and the host queues
// in no time, so only a join holds it up.
namespace rm {

// Links as the clock sees them: what one message of a group costs beside its bytes.
struct LinkSpeed {
    Seconds latency;           // of a message
    double bytes_per_sec = 0;  // in one direction; 0: bytes take no time
};
using LinkSpeeds =
    std::map<int, LinkSpeed>;  // by Traffic::group; one that is missing takes no time

struct ItemTimes {
    double begin = 0;  // seconds since the first item
    double end = 0;
};
struct ClockedSchedule {
    std::vector<ItemTimes> items;  // request, release, mark: when the compute stream (0) gets there
    // By stream that was waited for, by events and by joins: how long stream 0 stood still.
    std::map<std::string, double> exposed;
    // The part of it where the last work before the record, or the join, has traffic: by the
    // slowest Traffic::group.
    std::map<int, double> exposed_traffic;
    std::vector<double> busy;  // by stream
};
// One rank that is like its peers: they are where it is at any time. Work takes its seconds; with
// traffic it takes as long as the slowest of its links, which go at once.
ClockedSchedule run_clock(const StepSchedule& schedule, const LinkSpeeds& links);

// Every rank of a job, `peers[rank][group]` its group's ranks in ring order; a rank without a group
// is alone in it. Work with traffic is matched by its number among the rank's work of that group.
// It begins when every rank of each of its groups is there, of a ring as well, where the neighbours
// would do, and its traffic takes as long as on the slowest rank of the group. CheckError where
// ranks wait for each other, naming each one's op.
using RankGroups = std::vector<std::map<int, std::vector<int>>>;
std::vector<ClockedSchedule> run_clocks(std::span<const StepSchedule> ranks,
                                        const RankGroups& groups, const LinkSpeeds& links);

// How many bytes of an arena are live, over the compute stream's time, from each time on.
struct LiveBytes {
    double seconds = 0;
    Bytes bytes;
};
std::vector<LiveBytes> live_bytes(const StepSchedule& schedule, const ClockedSchedule& clocked,
                                  int arena);

}  // namespace rm
