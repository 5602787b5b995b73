#include "controller/ops/ops.h"

namespace rm {

Result<pb::Node> resume_node(OpsContext& context, const pb::ResumeNodeRequest& request) {
    RM_TRY(const NodeId id, context.control.read([&](const State& state) {
        return resolve_node(state, request.node_id());
    }));
    RM_RETURN_IF_ERROR(context.control.call(ResumeNode{id}));
    pb::GetNodeRequest get;
    get.set_node_id(id.value);
    return get_node(context, get);
}

}  // namespace rm
