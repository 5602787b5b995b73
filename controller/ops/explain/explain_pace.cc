#include <algorithm>

#include "base/median.h"
#include "controller/ops/explain/explain.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr std::size_t kLately = 8;     // steps
constexpr std::size_t kLeast = 3;      // steps that describe a rank
constexpr std::size_t kBaseline = 24;  // steps before the last ones that show the usual time
constexpr double kSlower = 1.25;
constexpr double kLeastLead = 1e-3;       // s; less is noise of the clock and the scheduler
constexpr double kLeastLeadShare = 0.02;  // of a step
constexpr double kShownShare = 0.01;
constexpr std::size_t kShownParts = 5;

double work_of(const StepReport& step) {
    return std::max(0.0, step.seconds - waited_seconds(step));
}

// The median of `value` over the last steps.
template <typename Value>
double lately(const RankPace& rank, const Value& value) {
    std::vector<double> values;
    for (std::size_t i = 0; i < std::min(kLately, rank.steps.size()); ++i)
        values.push_back(value(rank.steps[i]));
    return median(std::move(values));
}

std::string steps_text(std::size_t count) {
    return count == 1 ? "the last step" : format("the last {} steps", count);
}

std::string part_name(const std::string& word) {
    const auto [name, exposed] = step_phase(word);
    return format("{}{}", exposed ? "waits for " : "", name);
}

// Lists the phases that take most of rank 0's time, largest first, as places to look for speed.
void add_parts(const RankPace& first, Findings& findings) {
    const double step = lately(first, [](const StepReport& s) { return s.seconds; });
    if (!(step > 0)) return;
    std::vector<std::pair<double, std::string>> parts;
    for (const auto& [phase, seconds] : first.steps.front().phase_seconds) {
        const double share =
            lately(first, [&phase = phase](const StepReport& s) { return seconds_in(s, phase); }) /
            step;
        if (share >= kShownShare) parts.emplace_back(share, part_name(phase));
    }
    std::sort(parts.rbegin(), parts.rend());
    if (parts.size() > kShownParts) parts.resize(kShownParts);
    std::string text;
    for (const auto& [share, name] : parts)
        text += format(", {} {:.0}%", name, share * 100);
    findings.push_back(
        info("pace", format("a step takes {} (median of {}){}", to_string(Seconds{step}),
                            steps_text(std::min(kLately, first.steps.size())), text)));
}

void add_straggler(const std::vector<RankPace>& ranks, Findings& findings) {
    std::vector<double> work;
    for (const RankPace& rank : ranks) {
        if (rank.steps.size() < kLeast) return;
        work.push_back(lately(rank, work_of));
    }
    const auto slow = find_straggler(work);
    const double step = lately(ranks.front(), [](const StepReport& s) { return s.seconds; });
    const double least = std::max(kLeastLead, kLeastLeadShare * step);
    if (!slow || slow->seconds - slow->others < least) return;
    const RankPace& rank = ranks[slow->rank];
    findings.push_back(problem(
        format("rank {}", rank.rank),
        format("on {}: works {} of each step, the other ranks {} (medians of {}): they wait for it",
               rank.device, to_string(Seconds{slow->seconds}), to_string(Seconds{slow->others}),
               steps_text(std::min(kLately, rank.steps.size()))),
        format("check for other load and for thermal throttling on that machine; `ringmaster drain "
               "{}` moves the job elsewhere",
               rank.device.node)));
}

// Compares with earlier steps of the same stage: no plan predicts the time of a step.
void add_slowdown(const RankPace& first, Findings& findings) {
    std::vector<double> before;
    for (std::size_t i = kLately; i < first.steps.size(); ++i) {
        if (first.steps[i].stage == first.steps.front().stage)
            before.push_back(first.steps[i].seconds);
    }
    if (before.size() < kBaseline) return;
    const double now = lately(first, [](const StepReport& s) { return s.seconds; });
    const double usual = median(before);
    if (now < kSlower * usual) return;
    findings.push_back(
        problem("pace",
                format("a step takes {} lately (median of the last {}); the {} before "
                       "took {}: {:.1} times as long",
                       to_string(Seconds{now}), kLately, before.size(), to_string(Seconds{usual}),
                       now / usual),
                "`ringmaster top` shows which ranks work and which wait"));
}

}  // namespace

Findings explain_pace(const std::vector<RankPace>& ranks) {
    Findings findings;
    if (ranks.empty() || ranks.front().steps.size() < kLeast) return findings;
    add_parts(ranks.front(), findings);
    add_slowdown(ranks.front(), findings);
    add_straggler(ranks, findings);
    return findings;
}

}  // namespace rm
