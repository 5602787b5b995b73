#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::Node> get_node(OpsContext& context, const pb::GetNodeRequest& request) {
    return context.control.read([&](const State& state) -> Result<pb::Node> {
        RM_TRY(const NodeId id, resolve_node(state, request.node_id()));
        return to_message(state, *find_node(state, id), device_holders(state),
                          context.clock.wall());
    });
}

}  // namespace rm
