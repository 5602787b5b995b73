#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "kernels/meta/schedule.h"

// Computes when a schedule's items happen: streams run side by side, each in order, and the host
// queues in no time, so only a join delays it.
namespace rm {

// A link in the clock's model: the cost of one message, and of its bytes.
struct LinkSpeed {
    Seconds latency;           // of a message
    double bytes_per_sec = 0;  // in one direction; 0: bytes take no time
    // By Traffic::group: while that group transfers too, a transfer over this link takes 1 + so
    // many times as long; several groups add up. One that is missing uses other links.
    std::map<int, double> slowed_by = {};
};
using LinkSpeeds =
    std::map<int, LinkSpeed>;  // by Traffic::group; one that is missing takes no time

struct ItemTimes {
    double begin = 0;  // seconds since the first item
    double end = 0;
};
struct ClockedSchedule {
    std::vector<ItemTimes> items;  // request, release, mark: when the compute stream (0) reaches it
    // How long stream 0 waited, by the stream that it waited for, in events and joins.
    std::map<std::string, double> exposed;
    // The part of that time in which the last work before the record, or the join, has traffic, by
    // its slowest Traffic::group.
    std::map<int, double> exposed_traffic;
    std::vector<double> busy;  // by stream
};
// Clocks one rank whose peers are always as far as it is. Work takes its seconds; work with traffic
// takes as long as the slowest of its links, which transfer at the same time, and longer while
// another stream's transfer slows that link.
ClockedSchedule run_clock(const StepSchedule& schedule, const LinkSpeeds& links);

// Clocks every rank of a job. `peers[rank][group]`: the group's ranks in ring order; a rank without
// a group is alone in it. Work with traffic is matched by its number among the rank's work of that
// group. It begins when all ranks of each of its groups have reached it (of a ring, too, where the
// neighbours would suffice) and takes as long as on the slowest rank of the group. CheckError where
// ranks wait for each other, naming each one's op.
using RankGroups = std::vector<std::map<int, std::vector<int>>>;
std::vector<ClockedSchedule> run_clocks(std::span<const StepSchedule> ranks,
                                        const RankGroups& groups, const LinkSpeeds& links);

// The live bytes of an arena from each time on, by the compute stream's time.
struct LiveBytes {
    double seconds = 0;
    Bytes bytes;
};
std::vector<LiveBytes> live_bytes(const StepSchedule& schedule, const ClockedSchedule& clocked,
                                  int arena);

}  // namespace rm
