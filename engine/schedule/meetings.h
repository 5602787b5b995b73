#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace rm {

// Where the ranks of a group meet: the n-th collective of each is one.
class Meetings {
public:
    // The place of a group's ranks, the same for each of them, in whatever order they are named.
    std::size_t place_of(int group, std::vector<int> ranks);
    std::span<const int> ranks(std::size_t place) const { return places_[place].ranks; }

    struct Meeting {
        std::size_t arrived = 0;
        double begin = 0;    // when the last one came
        double seconds = 0;  // of the slowest
    };
    // Returns whether all are there now.
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

}  // namespace rm
