#include <algorithm>

#include "base/text.h"
#include "controller/ops/explain/explain.h"

namespace rm {
namespace {

constexpr std::size_t kMostNames = 4;

std::vector<const Machine*> unprovisioned(const MachinesView& view) {
    std::vector<const Machine*> found;
    for (const MachineRow& row : view.rows)
        if (row.standing == Standing::unprovisioned) found.push_back(&row.machine);
    return found;
}

std::string names_of(const std::vector<const Machine*>& machines) {
    const std::size_t shown = std::min(machines.size(), kMostNames);
    const std::vector<const Machine*> first(machines.begin(),
                                            machines.begin() + static_cast<std::ptrdiff_t>(shown));
    const std::string names =
        join(first, ", ", [](const Machine* machine) { return machine->name; });
    return machines.size() == shown ? names
                                    : format("{} and {} more", names, machines.size() - shown);
}

}  // namespace

bool waits_for_devices(const Job& job) {
    return job.state == JobState::pending &&
           std::any_of(
               job.blocking_reasons.begin(), job.blocking_reasons.end(), [](const Reason& reason) {
                   return reason.kind == ReasonKind::other || reason.kind == ReasonKind::memory;
               });
}

Findings explain_machines(const MachinesView& view) {
    const std::vector<const Machine*> without = unprovisioned(view);
    if (without.empty()) return {};
    const bool one = without.size() == 1;
    return {blocking(
        "machines",
        format("{} of the provider ({}) {} no worker: {}", counted(without.size(), "machine"),
               view.provider, one ? "has" : "have", names_of(without)),
        format("`{}`", provision_command(view.command, *without.front())))};
}

}  // namespace rm
