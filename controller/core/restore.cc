#include "controller/core/restore.h"

namespace rm {

std::string hold_reason(const State& state, WallTime now) {
    const WallTime until = state.restored + kRestoreHold;
    if (state.restored.micros == 0 || now >= until) return {};
    std::string awaited;
    for (const auto& [id, node] : state.nodes) {
        if (node.state == NodeState::gone || node.last_seen >= state.restored) continue;
        awaited += (awaited.empty() ? "" : ", ") + id.value;
    }
    if (awaited.empty()) return {};
    return format(
        "the controller was restored from a backup; waits until nodes {} have said what runs "
        "there, or until {}",
        awaited, to_iso8601(until));
}

}  // namespace rm
