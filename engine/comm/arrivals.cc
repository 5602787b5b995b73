#include "engine/comm/arrivals.h"

#include <algorithm>

namespace rm {

Arrivals::Arrivals(const std::vector<int>& peers) {
    for (const int rank : peers)
        peers_[rank];
}

void Arrivals::over(int from, std::int64_t bytes, Clock::time_point posted, Clock::time_point now) {
    Peer& peer = peers_.at(from);
    if (posted >= peer.last_over) {
        peer.run_began = posted;
        peer.run_bytes = 0;
    }
    peer.last_over = now;
    peer.run_bytes += bytes;
    peer.bytes += bytes;
    const double seconds = std::chrono::duration<double>(now - peer.run_began).count();
    if (peer.run_bytes < kLeast.value || seconds <= 0) return;
    const double rate = static_cast<double>(peer.run_bytes) / seconds;
    double best = peer.best;
    while (best < rate && !peer.best.compare_exchange_weak(best, rate)) {
    }
}

std::map<int, HopRate> Arrivals::take() {
    std::map<int, HopRate> rates;
    for (auto& [rank, peer] : peers_) {
        const HopRate rate{peer.bytes.exchange(0), peer.best.exchange(0)};
        if (rate.bytes_per_second > 0) rates[rank] = rate;
    }
    return rates;
}

}  // namespace rm
