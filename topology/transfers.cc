#include "topology/transfers.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace rm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The capacity left of a resource, and how many transfers over it still rise.
struct Shared {
    double left = 0;  // bytes per second
    int rising = 0;
};

// Progressive filling of the transfers in `moving`.
class Filling {
public:
    Filling(const Routes& routes, const std::vector<Route>& ways, const std::vector<int>& moving)
        : rising_(moving), rates_(ways.size(), 0) {
        limits_.reserve(ways.size());
        for (const Route& way : ways)
            limits_.push_back(way.flow);
        used_.resize(ways.size());
        std::unordered_map<int, int> places;
        for (const int i : moving) {
            ways[usize(i)].for_each([&](int r) {
                const auto [at, is_new] = places.try_emplace(r, std::ssize(shared_));
                if (is_new) shared_.push_back({1 / routes.seconds_per_byte(r), 0});
                ++shared_[usize(at->second)].rising;
                used_[usize(i)].push_back(at->second);
            });
        }
    }

    std::vector<double> fill() {
        while (!rising_.empty())
            freeze_at(next_level());
        return std::move(rates_);
    }

private:
    // Rates of all rising transfers are equal, so the next to stop is at the least share.
    double next_level() const {
        double level = kInfinity;
        for (const Shared& shared : shared_) {
            if (shared.rising > 0) level = std::min(level, shared.left / shared.rising);
        }
        for (const int i : rising_)
            level = std::min(level, limits_[usize(i)]);
        return level;
    }
    bool stops_at(int i, double level) const {
        const std::vector<int>& used = used_[usize(i)];
        return limits_[usize(i)] <= level || std::any_of(used.begin(), used.end(), [&](int r) {
                   const Shared& shared = shared_[usize(r)];
                   return shared.left / shared.rising <= level;
               });
    }
    // `left` of a resource has frozen transfers already subtracted, rising ones not yet.
    void freeze_at(double level) {
        const auto risen = std::stable_partition(rising_.begin(), rising_.end(),
                                                 [&](int i) { return !stops_at(i, level); });
        for (auto i = risen; i != rising_.end(); ++i) {
            rates_[usize(*i)] = level;
            for (const int r : used_[usize(*i)]) {
                Shared& shared = shared_[usize(r)];
                shared.left = std::max(0.0, shared.left - level);
                --shared.rising;
            }
        }
        rising_.erase(risen, rising_.end());
    }

    std::vector<int> rising_;  // ascending
    std::vector<double> rates_;
    std::vector<double> limits_;          // by transfer
    std::vector<std::vector<int>> used_;  // by transfer: places in shared_
    std::vector<Shared> shared_;
};

std::vector<Route> ways_of(const Routes& routes, std::span<const Transfer> transfers) {
    std::vector<Route> ways;
    for (const Transfer& transfer : transfers)
        ways.push_back(routes.route(transfer.from, transfer.to));
    return ways;
}

}  // namespace

std::vector<double> fair_rates(const Routes& routes, std::span<const Transfer> transfers) {
    const std::vector<Route> ways = ways_of(routes, transfers);
    std::vector<int> all(transfers.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<int>(i);
    return Filling(routes, ways, all).fill();
}

TransferTimes transfer_times(const Routes& routes, std::span<const Transfer> transfers) {
    const std::vector<Route> ways = ways_of(routes, transfers);
    TransferTimes times;
    times.finish.resize(transfers.size());
    std::vector<double> left;
    std::vector<int> moving;
    double latency = 0;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        left.push_back(static_cast<double>(transfers[i].bytes.value));
        if (transfers[i].from == transfers[i].to) continue;
        latency = std::max(latency, ways[i].latency);
        if (transfers[i].bytes.value > 0) moving.push_back(static_cast<int>(i));
    }
    double now = 0;
    while (!moving.empty()) {
        const std::vector<double> rates = Filling(routes, ways, moving).fill();
        double step = kInfinity;
        for (const int i : moving)
            step = std::min(step,
                            left[static_cast<std::size_t>(i)] / rates[static_cast<std::size_t>(i)]);
        now += step;
        std::erase_if(moving, [&](int i) {
            const auto at = static_cast<std::size_t>(i);
            // Those that end together differ by rounding.
            const double rest = left[at] - rates[at] * step;
            const bool done = rest <= 1e-9 * left[at];
            left[at] = rest;
            if (done) times.finish[at] = {now};
            return done;
        });
    }
    times.total = {now + latency};
    return times;
}

}  // namespace rm
