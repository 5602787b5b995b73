#include "worker/inventory/gpu_use.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace rm {
namespace {

const GpuReading* reading_of(const std::vector<GpuReading>& readings, int device) {
    const auto found = std::find_if(readings.begin(), readings.end(),
                                    [=](const GpuReading& r) { return r.index == device; });
    return found == readings.end() || found->state.lost ? nullptr : &*found;
}

}  // namespace

void GpuUses::add_to(const std::vector<AttemptStatus*>& attempts,
                     const std::vector<GpuReading>& readings) {
    std::set<Epoch> known;
    for (AttemptStatus* attempt : attempts) {
        known.insert(attempt->epoch);
        for (RankStatus& rank : attempt->ranks) {
            const GpuReading* reading = reading_of(readings, rank.device);
            const double now = reading == nullptr ? 0 : reading->state.joules;
            Meter& meter =
                meters_.try_emplace({attempt->epoch, rank.rank}, Meter{now, now}).first->second;
            add_to(rank, meter, reading);
        }
    }
    std::erase_if(meters_, [&](const auto& meter) { return !known.contains(meter.first.first); });
}

// The driver's count starts over when the driver does.
void GpuUses::add_to(RankStatus& rank, Meter& meter, const GpuReading* reading) {
    const bool runs = rank.running && !rank.exited;
    if (runs && reading != nullptr) {
        meter.last = std::max(meter.last, reading->state.joules);
        rank.gpu.temperature_celsius = reading->state.temperature_celsius;
        rank.gpu.watts = reading->state.watts;
        rank.gpu.throttled = join(reading->state.throttled, ", ");
    }
    rank.gpu.joules = meter.last - meter.first;
}

}  // namespace rm
