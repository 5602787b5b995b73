#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule/clock.h"
#include "engine/schedule/shared_links.h"

namespace rm {

// Matches the collectives of a group's ranks: the n-th of each rank is one meeting.
class Meetings {
public:
    // The group's index: the same for each of its ranks, in whatever order they are listed.
    std::size_t place_of(int group, std::vector<int> ranks);
    std::span<const int> ranks(std::size_t place) const { return places_[place].ranks; }

    struct Meeting {
        std::size_t arrived = 0;
        double begin = 0;    // when the last rank arrived
        double seconds = 0;  // of the slowest
    };
    // Returns whether all ranks have arrived.
    bool arrive(std::size_t place, std::size_t number, double time, double seconds);
    const Meeting& at(std::size_t place, std::size_t number) const {
        return places_[place].meetings[number];
    }
    bool complete(std::size_t place, std::size_t number) const {
        return at(place, number).arrived == places_[place].ranks.size();
    }

private:
    struct Place {
        std::vector<int> ranks;  // sorted
        std::vector<Meeting> meetings;
    };
    std::vector<Place> places_;
    std::map<std::pair<int, std::vector<int>>, std::size_t> known_;
};

// One rank's streams and host, advanced until they wait for other ranks.
class RankClock {
public:
    // Borrows all. `groups`: the rank's own; every rank has one in `meetings`.
    RankClock(const StepSchedule& schedule, int rank, const std::map<int, std::vector<int>>& groups,
              const LinkSpeeds& links, Meetings& meetings);

    // Advances until everything waits for other ranks. Returns the places of the groups in which
    // this rank was the last to arrive: their other ranks can advance now.
    std::vector<std::size_t> advance();
    bool over() const;
    // Names the collectives that its streams wait in.
    std::string describe_block() const;
    ClockedSchedule take() { return std::move(clocked_); }

private:
    static constexpr int kNoGroup = -1;
    struct Arrival {
        std::size_t place = 0;
        std::size_t number = 0;
        int group = 0;
    };
    struct StreamState {
        std::vector<std::uint32_t> queue;
        std::size_t next = 0;  // of the queue
        double now = 0;
        int last_group = kNoGroup;      // of the last work, if it has traffic: its slowest
        std::vector<Arrival> arrivals;  // of the collective it is in
    };
    struct GroupState {
        std::size_t place = 0;
        std::size_t next = 0;  // number of its next collective
    };

    bool queue_items();
    bool step(std::size_t stream);
    bool finish(std::size_t stream, std::uint32_t item, double begin, double end);
    double enter(std::size_t stream, std::uint32_t item);
    void note_exposed(double seconds, std::uint32_t record_or_join);
    bool do_work(std::size_t stream, std::uint32_t item);
    bool do_wait(std::size_t stream, std::uint32_t item);
    bool end_work(std::size_t stream, double begin, double end);
    void arrive(std::size_t stream, std::uint32_t item);
    double seconds_of(const Traffic& traffic) const;
    GroupState& group_state(int group);

    const StepSchedule& schedule_;
    int rank_;
    const std::map<int, std::vector<int>>& peers_;
    const LinkSpeeds& links_;
    Meetings& meetings_;
    ClockedSchedule clocked_;
    std::vector<StreamState> streams_;
    std::map<int, GroupState> groups_;
    SharedLinks shared_;
    std::uint32_t num_queued_ = 0;  // items, by the host
    double host_now_ = 0;
    std::vector<std::uint32_t> long_joins_;  // that held up the host
    std::vector<bool> recorded_;             // by item
    std::vector<int> last_groups_;  // by item, of records and joins: of their stream's last work
    std::vector<std::size_t> completed_;  // places, in this advance
};

}  // namespace rm
