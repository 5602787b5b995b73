#include "controller/survey/tournament.h"

#include <algorithm>

namespace rm {

std::vector<Round> tournament(int num_nodes) {
    if (num_nodes < 2) return {};
    const int seats = num_nodes + num_nodes % 2;
    std::vector<Round> rounds;
    for (int turn = 0; turn + 1 < seats; ++turn) {
        Round round;
        // Seat 0 stays, the others move on by one each round.
        const auto at = [&](int seat) {
            return seat == 0 ? 0 : 1 + (seat - 1 + turn) % (seats - 1);
        };
        for (int seat = 0; seat < seats / 2; ++seat) {
            const NodePair pair = std::minmax(at(seat), at(seats - 1 - seat));
            if (pair.second < num_nodes) round.push_back(pair);
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

std::vector<Round> sampled(const std::vector<Round>& rounds, std::size_t count) {
    if (rounds.size() <= count) return rounds;
    std::vector<Round> kept;
    for (std::size_t i = 0; i < count; ++i)
        kept.push_back(rounds[i * rounds.size() / count]);
    return kept;
}

}  // namespace rm
