#include "controller/ops/nodes/machine_views.h"

namespace rm {
namespace {

pb::MachineState to_proto(Standing standing) {
    switch (standing) {
        case Standing::unprovisioned:
            return pb::MACHINE_STATE_UNPROVISIONED;
        case Standing::matched:
            return pb::MACHINE_STATE_MATCHED;
        case Standing::gone:
            return pb::MACHINE_STATE_GONE;
        case Standing::starting:
            return pb::MACHINE_STATE_STARTING;
        case Standing::stopped:
            return pb::MACHINE_STATE_STOPPED;
    }
    return pb::MACHINE_STATE_UNSPECIFIED;
}

pb::Machine to_message(const MachineRow& row, const std::string& command) {
    const Machine& machine = row.machine;
    pb::Machine message;
    message.set_id(machine.id);
    message.set_name(machine.name);
    message.set_state(to_proto(row.standing));
    message.set_shape(machine.shape);
    message.mutable_addresses()->Add(machine.addresses.begin(), machine.addresses.end());
    message.set_location(machine.location);
    for (const NodeId& node : row.nodes)
        message.add_node_ids(node.value);
    if (row.standing == Standing::unprovisioned)
        message.set_provision(provision_command(command, machine));
    return message;
}

}  // namespace

void add_machines(const MachinesView& view, pb::ListNodesReply& reply) {
    reply.set_provider(view.provider);
    reply.set_provider_problem(view.problem);
    for (const MachineRow& row : view.rows)
        *reply.add_machines() = to_message(row, view.command);
}

}  // namespace rm
