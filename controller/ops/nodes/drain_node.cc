#include "controller/ops/ops.h"

namespace rm {
namespace {

constexpr std::size_t kMaxReason = 1000;

Status check(const pb::DrainNodeRequest& request) {
    if (request.gone() && request.keep_running()) {
        return invalid_argument(
            "gone and keep_running: nothing runs on a machine that is gone; "
            "give one of them");
    }
    if (request.reason().size() > kMaxReason) {
        return invalid_argument("reason: {} bytes; at most {}", request.reason().size(),
                                kMaxReason);
    }
    return {};
}

// Refuses a node with a session: its ranks may still run on devices that other jobs would get.
Status check_gone(const Node& node) {
    if (!node.session.up) return {};
    return make_error(
        ErrorCode::failed_precondition,
        "node {} has a session, so its machine exists; drain it without gone, or stop "
        "its worker first",
        node.id);
}

}  // namespace

Result<pb::Node> drain_node(OpsContext& context, const pb::DrainNodeRequest& request) {
    RM_RETURN_IF_ERROR(check(request));
    RM_TRY(const NodeId id, context.control.read([&](const State& state) {
        return resolve_node(state, request.node_id());
    }));
    if (request.gone()) {
        RM_RETURN_IF_ERROR(context.control.read(
            [&](const State& state) { return check_gone(*find_node(state, id)); }));
        RM_RETURN_IF_ERROR(context.control.call(NodeGone{id, request.reason()}));
    } else {
        RM_RETURN_IF_ERROR(
            context.control.call(DrainNode{id, request.reason(), request.keep_running()}));
    }
    pb::GetNodeRequest get;
    get.set_node_id(id.value);
    return get_node(context, get);
}

}  // namespace rm
