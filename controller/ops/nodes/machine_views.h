#pragma once

#include "controller/discovery/reconcile.h"
#include "ringmaster/v1/node.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

void add_machines(const MachinesView& view, pb::ListNodesReply& reply);

}  // namespace rm
