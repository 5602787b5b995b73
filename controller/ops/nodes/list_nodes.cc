#include "controller/ops/nodes/machine_views.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {
namespace {

Result<pb::ListNodesReply> nodes_page(OpsContext& context, const pb::ListNodesRequest& request) {
    RM_TRY(const std::int64_t after, parse_page_token(request.page_token(), 0));
    const WallTime now = context.clock.wall();
    const int limit = page_size(request.page_size());
    return context.control.read([&](const State& state) {
        pb::ListNodesReply reply;
        reply.set_telemetry_dropped(context.space.refused());
        const auto holders = device_holders(state);
        std::size_t bytes = 0;
        for (const Node* node : nodes_by_registration(state)) {
            if (node->number <= after) continue;
            if (bytes >= kMaxPageBytes || reply.nodes_size() == limit) return reply;
            *reply.add_nodes() = to_message(state, *node, holders, now);
            bytes += reply.nodes(reply.nodes_size() - 1).ByteSizeLong();
            reply.set_next_page_token(std::to_string(node->number));
        }
        reply.clear_next_page_token();
        return reply;
    });
}

}  // namespace

Result<pb::ListNodesReply> list_nodes(OpsContext& context, const pb::ListNodesRequest& request) {
    RM_TRY(pb::ListNodesReply page, nodes_page(context, request));
    if (page.next_page_token().empty()) add_machines(context.machines(), page);
    return page;
}

}  // namespace rm
