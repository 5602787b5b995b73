#pragma once

#include <string>
#include <vector>

#include "cli/fleet/shape_price.h"
#include "cli/show/table.h"
#include "controller/discovery/crusoe_api.h"
#include "ringmaster/v1/node.pb.h"

// Machines and shapes for people and for scripts. Pure.
namespace rm {

namespace pb = ringmaster::v1;

Table machines_table(const std::vector<Machine>& machines);  // NAME STATE SHAPE LOCATION ADDRESS ID
std::string machines_json(const std::vector<Machine>& machines);
Table shapes_table(const std::vector<Shape>& shapes, const PriceList& prices);
std::string shapes_json(const std::vector<Shape>& shapes, const PriceList& prices);

// The order and its cost, for the question that follows.
std::vector<std::string> order_lines(const MachineOrder& order, const Shape& shape,
                                     const MachinePrice& price);

// MACHINE STATE SHAPE ADDRESS, and in a wide table LOCATION, NODES, ID and the command: the
// controller's view. A usual table leaves out machines that have their worker.
Table provider_table(const std::vector<pb::Machine>& machines, Detail detail);
std::vector<pb::Machine> without_worker(const std::vector<pb::Machine>& machines);

}  // namespace rm
