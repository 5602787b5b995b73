#include "tests/topology/transfers.h"

#include <algorithm>
#include <limits>
#include <map>

namespace rm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The resources that transfers use: the capacity left on each, and how many transfers still rise.
struct Shared {
    double left = 0;  // bytes per second
    int rising = 0;
};

// Progressive filling of the transfers in `moving`.
class Filling {
public:
    Filling(const Routes& routes, const std::vector<Route>& ways, const std::vector<int>& moving)
        : ways_(ways), rising_(moving), rates_(ways.size(), 0) {
        for (const int i : moving) {
            way(i).for_each([&](int r) {
                Shared& shared = shared_[r];
                shared.left = 1 / routes.seconds_per_byte(r);
                ++shared.rising;
            });
        }
    }

    std::vector<double> fill() {
        while (!rising_.empty())
            freeze_at(next_level());
        return std::move(rates_);
    }

private:
    const Route& way(int i) const { return ways_[static_cast<std::size_t>(i)]; }
    // Rates of all rising transfers are equal, so the next to stop is at the least share.
    double next_level() const {
        double level = kInfinity;
        for (const auto& [r, shared] : shared_) {
            if (shared.rising > 0) level = std::min(level, shared.left / shared.rising);
        }
        for (const int i : rising_)
            level = std::min(level, way(i).flow);
        return level;
    }
    // `left` of a resource has frozen transfers already subtracted, rising ones not yet.
    void freeze_at(double level) {
        std::vector<int> frozen;
        for (const int i : rising_) {
            bool full = way(i).flow <= level;
            way(i).for_each([&](int r) {
                const Shared& shared = shared_.at(r);
                full = full || shared.left / shared.rising <= level;
            });
            if (full) frozen.push_back(i);
        }
        for (const int i : frozen) {
            rates_[static_cast<std::size_t>(i)] = level;
            way(i).for_each([&](int r) {
                Shared& shared = shared_.at(r);
                shared.left = std::max(0.0, shared.left - level);
                --shared.rising;
            });
        }
        std::erase_if(rising_,
                      [&](int i) { return std::binary_search(frozen.begin(), frozen.end(), i); });
    }

    const std::vector<Route>& ways_;
    std::vector<int> rising_;  // ascending
    std::map<int, Shared> shared_;
    std::vector<double> rates_;
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
