#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/placement_cost.h"

// Parses the options of `place`. Pure; errors name the option and a valid form.
namespace rm {

// Texts as the user typed them.
struct TrafficOptions {
    std::string bytes;  // ring=64MiB:12,...; empty: by the formulas, of the model
    std::string model;
    std::string context;
    std::string batch;
    std::string precision = "bf16";
    int zero = 0;
};

Result<Mesh> parse_mesh_argument(std::string_view text);  // data=2,ring=4,inner=2,tensor=2

// ring=64MiB:12,tensor=1GiB: bytes that a rank sends in a step, and in how many messages (1).
// tensor, ring and data travel around their rings, ulysses goes to all ranks at once.
Result<StepTraffic> parse_bytes_argument(std::string_view text);

// --bytes, or --model with --context.
Result<StepTraffic> traffic_of(const TrafficOptions& options, const Mesh& mesh);

// NODE is all devices of a node, NODE:DEVICE one.
Result<std::vector<Endpoint>> parse_devices(const std::vector<std::string>& texts,
                                            const LinkGraph& graph);

}  // namespace rm
