#include <algorithm>
#include <map>

#include "base/words.h"
#include "controller/core/due.h"

namespace rm {
namespace {

constexpr double kUsualQuiets = 3;

using Ranks = std::vector<const WatchedRank*>;

Ranks unfinished(const std::vector<WatchedRank>& ranks) {
    Ranks list;
    for (const WatchedRank& rank : ranks) {
        if (!rank.status.exited) list.push_back(&rank);
    }
    return list;
}

Seconds patience(const Ranks& ranks) {
    Seconds limit = kStallFloor;
    for (const WatchedRank* rank : ranks) {
        const RankStatus& status = rank->status;
        if (!status.training || status.step == 0) limit = std::max(limit, kFirstStepFloor);
        limit = std::max(limit, Seconds{kUsualQuiets * status.longest_quiet.value});
    }
    return limit;
}

bool is_less_quiet(const WatchedRank* a, const WatchedRank* b) {
    return a->status.quiet < b->status.quiet;
}

bool is_inside(const RankStatus& status) {
    return status.collectives_entered > status.collectives_left;
}

const WatchedRank* suspended(const Ranks& ranks) {
    const auto found = std::find_if(ranks.begin(), ranks.end(),
                                    [](const WatchedRank* rank) { return rank->status.suspended; });
    return found == ranks.end() ? nullptr : *found;
}

// The furthest behind of the ranks in no collective, while another rank is in one.
const WatchedRank* outside(const Ranks& ranks) {
    const WatchedRank* behind = nullptr;
    bool someone_waits = false;
    for (const WatchedRank* rank : ranks) {
        if (is_inside(rank->status)) {
            someone_waits = true;
        } else if (behind == nullptr ||
                   rank->status.collectives_entered < behind->status.collectives_entered) {
            behind = rank;
        }
    }
    return someone_waits ? behind : nullptr;
}

const WatchedRank* most_waited_for(const Ranks& ranks) {
    std::map<int, int> waiters;
    for (const WatchedRank* rank : ranks) {
        if (is_inside(rank->status)) ++waiters[rank->status.waits_for];
    }
    const WatchedRank* most = nullptr;
    int count = 0;
    for (const WatchedRank* rank : ranks) {
        const auto found = waiters.find(rank->status.rank);
        if (found == waiters.end() || found->second <= count) continue;
        most = rank;
        count = found->second;
    }
    return most;
}

std::string name_of(const WatchedRank& rank) {
    return format("rank {} on node {}", rank.status.rank, rank.node);
}

// "; 3 ranks wait in ring_hop for it", without counting the culprit; empty: none waits.
std::string waiting_for(const Ranks& ranks, const WatchedRank* culprit) {
    std::map<std::string, int> waiters;  // by collective
    int count = 0;
    for (const WatchedRank* rank : ranks) {
        if (rank == culprit || !is_inside(rank->status)) continue;
        ++waiters[rank->status.last_collective];
        ++count;
    }
    if (count == 0) return {};
    const auto most =
        std::max_element(waiters.begin(), waiters.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return format("; {} {} in {} for it", counted(count, "rank"), count == 1 ? "waits" : "wait",
                  most->first);
}

std::string blame(const Ranks& ranks) {
    if (const WatchedRank* rank = suspended(ranks)) {
        return name_of(*rank) + " is stopped by a signal" + waiting_for(ranks, rank);
    }
    if (const WatchedRank* rank = outside(ranks)) {
        return format("{} makes no progress in {}{}", name_of(*rank),
                      rank->status.phase.empty() ? "its step" : rank->status.phase,
                      waiting_for(ranks, rank));
    }
    if (const WatchedRank* rank = most_waited_for(ranks)) {
        return format("{} is stuck in {}{}", name_of(*rank), rank->status.last_collective,
                      waiting_for(ranks, rank));
    }
    const WatchedRank* rank = *std::max_element(ranks.begin(), ranks.end(), is_less_quiet);
    return format("{} makes no progress in {}, nor does any other", name_of(*rank),
                  rank->status.phase.empty() ? "its step" : rank->status.phase);
}

}  // namespace

std::optional<std::string> stall_cause(const std::vector<WatchedRank>& ranks) {
    const Ranks watched = unfinished(ranks);
    if (watched.empty()) return std::nullopt;
    const Seconds quiet =
        (*std::min_element(watched.begin(), watched.end(), is_less_quiet))->status.quiet;
    if (quiet <= patience(watched)) return std::nullopt;
    return format("{}, the last progress was {:.0} s ago", blame(watched), quiet.value);
}

}  // namespace rm
