#include "controller/survey/hop_watch.h"

#include "base/format.h"
#include "base/median.h"

namespace rm {

std::optional<std::string> HopWatch::take(const HopSample& sample, MonoTime now) {
    Series& series = series_[{sample.epoch, {sample.from_rank, sample.to_rank}}];
    if (sample.step <= series.last_step) return std::nullopt;
    if (sample.stage != series.stage) series = {.stage = sample.stage};
    series.last_step = sample.step;
    if (series.first.size() < kSteps) {
        series.first.push_back(sample.rate.value);
        return std::nullopt;
    }
    series.last.push_back(sample.rate.value);
    if (series.last.size() > kSteps) series.last.pop_front();
    if (series.last.size() < kSteps) return std::nullopt;
    const double share = median({series.last.begin(), series.last.end()}) / median(series.first);
    if (share >= kSlow) return std::nullopt;
    const auto [said, first_time] = said_.try_emplace(sample.epoch, now);
    if (!first_time && now - said->second < kPause) return std::nullopt;
    said->second = now;
    return format("ring hops from {} to {} are {:.1} of what they were", sample.ends.first,
                  sample.ends.second, share);
}

void HopWatch::keep_only(const std::set<Epoch>& live) {
    std::erase_if(series_, [&](const auto& entry) { return !live.contains(entry.first.first); });
    std::erase_if(said_, [&](const auto& entry) { return !live.contains(entry.first); });
}

}  // namespace rm
