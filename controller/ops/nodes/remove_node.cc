#include <chrono>
#include <thread>

#include "controller/ops/checks.h"
#include "controller/ops/ops.h"

namespace rm {
namespace {

// A hello that is being stored at this moment ends within milliseconds.
constexpr std::chrono::milliseconds kPause{50};
constexpr int kAttempts = 100;

std::vector<Epoch> running_on(const State& state, const NodeId& id) {
    std::vector<Epoch> epochs;
    for (const auto& [epoch, status] : find_node(state, id)->session.reported) {
        if (status.processes_left) epochs.push_back(epoch);
    }
    return epochs;
}

// Its ranks would train beside their successors.
void stop_and_end(OpsContext& context, const NodeRemoval& parts, const NodeId& id) {
    const auto epochs =
        context.control.read([&](const State& state) { return running_on(state, id); });
    for (const Epoch epoch : epochs)
        parts.sessions.send(id, StopAttempt{.epoch = epoch, .mode = StopMode::now, .grace = {}});
    parts.sessions.end(id, make_error(ErrorCode::unauthenticated, "node {} was removed", id));
}

}  // namespace

Result<pb::Node> remove_node(OpsContext& context, const NodeRemoval& parts,
                             const pb::RemoveNodeRequest& request) {
    RM_RETURN_IF_ERROR(check_message(request));
    RM_TRY(const NodeId id, context.control.read([&](const State& state) {
        return resolve_node(state, request.node_id());
    }));
    RM_RETURN_IF_ERROR(parts.join.remove(id, context.clock.wall()));
    Status removed;
    for (int i = 0; i < kAttempts; ++i) {
        stop_and_end(context, parts, id);
        const auto answer = context.control.call(NodeRemoved{id, request.reason()});
        removed = answer ? Status() : Status(answer.error());
        if (removed || removed.error().code != ErrorCode::unavailable) break;
        std::this_thread::sleep_for(kPause);
    }
    RM_RETURN_IF_ERROR(removed);
    pb::GetNodeRequest get;
    get.set_node_id(id.value);
    return get_node(context, get);
}

}  // namespace rm
