#include "cli/fleet/operations.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace rm {
namespace {

Result<Machine> pick(const std::vector<Machine>& machines, const std::string& text) {
    const Machine* found = nullptr;
    for (const Machine& machine : machines) {
        if (machine.id == text) return machine;
        if (machine.name != text) continue;
        if (found != nullptr)
            return invalid_argument(
                "several machines are named '{}'; give an id, as in `ringmaster "
                "fleet ls`",
                text);
        found = &machine;
    }
    if (found != nullptr) return *found;
    return make_error(ErrorCode::not_found, "'{}'", text);
}

}  // namespace

Result<Waited> wait_for_operation(CrusoeApi& api, CloudOperation operation, const WaitRules& rules,
                                  const Signals& signals) {
    Seconds waited;
    for (Seconds pause = rules.first_pause; operation.state == OperationState::in_progress;
         pause = std::min(pause + pause, rules.longest_pause)) {
        if (waited >= rules.limit) return Waited{Wait::timed_out, operation};
        signals.wait_for(pause);
        if (signals.token().stop_requested()) return Waited{Wait::interrupted, operation};
        waited += pause;
        RM_TRY(operation, api.operation(operation.id));
    }
    return Waited{Wait::ended, operation};
}

std::vector<std::string> names_of(const MachineOrder& order) {
    std::vector<std::string> names;
    for (int number = 1; number <= order.count; ++number)
        names.push_back(format("{}-{}", order.prefix, number));
    return names;
}

std::vector<Machine> named(const std::vector<Machine>& machines,
                           const std::vector<std::string>& names) {
    std::vector<Machine> found;
    for (const std::string& name : names) {
        const auto machine = std::find_if(machines.begin(), machines.end(),
                                          [&](const Machine& m) { return m.name == name; });
        if (machine != machines.end()) found.push_back(*machine);
    }
    return found;
}

Result<std::vector<Machine>> find_created(CrusoeApi& api, const std::vector<std::string>& names,
                                          const WaitRules& rules, const Signals& signals) {
    Seconds waited;
    for (Seconds pause = rules.first_pause;; pause = std::min(pause + pause, rules.longest_pause)) {
        RM_TRY(const std::vector<Machine> all, api.machines());
        std::vector<Machine> found = named(all, names);
        const bool stopped = signals.token().stop_requested();
        if (found.size() == names.size() || waited >= rules.limit || stopped) return found;
        signals.wait_for(pause);
        waited += pause;
    }
}

Result<std::vector<Machine>> pick_machines(const std::vector<Machine>& machines,
                                           const std::vector<std::string>& texts) {
    std::vector<Machine> picked;
    std::vector<std::string> unknown;
    std::set<std::string> ids;
    for (const std::string& text : texts) {
        const Result<Machine> machine = pick(machines, text);
        if (machine && ids.insert(machine->id).second) picked.push_back(*machine);
        if (machine) continue;
        if (machine.error().code != ErrorCode::not_found) return machine.error();
        unknown.push_back(machine.error().message);
    }
    if (unknown.empty()) return picked;
    return make_error(ErrorCode::not_found, "no machine {} {}: `ringmaster fleet ls` lists them",
                      unknown.size() == 1 ? "is named" : "has any of the names", join(unknown));
}

}  // namespace rm
