#pragma once

#include <string_view>

#include "cli/options.h"
#include "topology/placement_cost.h"

// What the options of `place` say. Pure; errors name the option and what would have been right.
namespace rm {

Result<Mesh> parse_mesh_argument(std::string_view text);  // data=2,ring=4,inner=2,tensor=2

// ring=64MiB:12,tensor=1GiB: bytes that a rank sends in a step, and in how many messages (1).
// tensor, ring and data go round their rings, ulysses to all at once.
Result<StepTraffic> parse_bytes_argument(std::string_view text);

// --bytes, or --model with --context.
Result<StepTraffic> traffic_of(const PlaceOptions& options, const Mesh& mesh);

// NODE is all devices of a node, NODE:DEVICE one.
Result<std::vector<Endpoint>> parse_devices(const std::vector<std::string>& texts,
                                            const LinkGraph& graph);

}  // namespace rm
