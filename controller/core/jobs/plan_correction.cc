#include "controller/core/jobs/plan_correction.h"

#include <algorithm>
#include <optional>

namespace rm {
namespace {

constexpr double kAnotherThing = 2;
constexpr int kMostLooks = 1000;  // attempts: commits wait while a reader holds the state

// The profile that the attempt was planned with, if its devices still exist.
bool ran_on(const State& state, const Attempt& attempt, Precision precision,
            const KeptProfile& profile) {
    const DeviceId& first = attempt.ranks.front().device;
    const Node* node = find_node(state, first.node);
    const DeviceInfo* device = node == nullptr ? nullptr : find_device(*node, first.index);
    if (device == nullptr || device->kind != profile.measured.kind) return false;
    return profile_driver(node->inventory, device->kind, precision) == profile.measured.driver;
}

// Its measured step over that of the bare profile.
std::optional<double> ratio_of(const State& state, const Attempt& attempt, Precision precision,
                               const KeptProfile& profile) {
    if (!(attempt.measured_step.value > 0) || !(attempt.predicted.step.value > 0))
        return std::nullopt;
    if (attempt.started < profile.time) return std::nullopt;
    if (precision_of(state.jobs.at(attempt.job).spec.precision) != precision) return std::nullopt;
    if (!ran_on(state, attempt, precision, profile)) return std::nullopt;
    const double used = attempt.predicted.correction > 0 ? attempt.predicted.correction : 1;
    const double ratio = used * attempt.measured_step.value / attempt.predicted.step.value;
    const bool is_another = ratio > kAnotherThing || ratio < 1 / kAnotherThing;
    return is_another ? std::nullopt : std::optional(ratio);
}

std::vector<double> newest_ratios(const State& state, Precision precision,
                                  const KeptProfile& profile) {
    std::vector<double> ratios;
    int looks = 0;
    for (auto at = state.attempts.rbegin(); at != state.attempts.rend(); ++at) {
        if (++looks > kMostLooks || std::ssize(ratios) == kMostRuns) break;
        if (const auto ratio = ratio_of(state, at->second, precision, profile))
            ratios.push_back(*ratio);
    }
    return ratios;
}

}  // namespace

double plan_correction(const State& state, Precision precision, const KeptProfile& profile) {
    std::vector<double> ratios = newest_ratios(state, precision, profile);
    if (std::ssize(ratios) < kFewestRuns) return 0;
    std::sort(ratios.begin(), ratios.end());
    const bool all_longer = ratios.front() > 1 + kWorthIt;
    const bool all_shorter = ratios.back() < 1 - kWorthIt;
    return all_longer || all_shorter ? ratios[ratios.size() / 2] : 0;
}

}  // namespace rm
