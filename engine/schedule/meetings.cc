#include "engine/schedule/meetings.h"

#include <algorithm>

namespace rm {

std::size_t Meetings::place_of(int group, std::vector<int> ranks) {
    std::sort(ranks.begin(), ranks.end());
    const auto [at, is_new] = known_.try_emplace({group, ranks}, places_.size());
    if (is_new) places_.push_back({std::move(ranks), {}});
    return at->second;
}

bool Meetings::arrive(std::size_t place, std::size_t number, double time, double seconds) {
    std::vector<Meeting>& meetings = places_[place].meetings;
    if (meetings.size() <= number) meetings.resize(number + 1);
    Meeting& meeting = meetings[number];
    ++meeting.arrived;
    meeting.begin = std::max(meeting.begin, time);
    meeting.seconds = std::max(meeting.seconds, seconds);
    return complete(place, number);
}

}  // namespace rm
