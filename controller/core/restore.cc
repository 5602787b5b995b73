#include "controller/core/restore.h"

namespace rm {

Reason hold_reason(const State& state, WallTime steady) {
    if (steady >= state.held_until) return {};
    std::string awaited;
    for (const NodeId& id : state.unheard) {
        if (state.nodes.at(id).state == NodeState::gone) continue;
        awaited += (awaited.empty() ? "" : ", ") + id.value;
    }
    if (awaited.empty()) return {};
    return {"the controller was restored from a backup",
            format("waits until nodes {} have said what runs there, or until {}", awaited,
                   to_iso8601(state.restored + kRestoreHold))};
}

bool may_adopt(const State& state, const NodeId& node, WallTime steady) {
    const bool known = find_node(state, node) != nullptr;
    return known ? state.unheard.contains(node) : steady < state.held_until;
}

}  // namespace rm
