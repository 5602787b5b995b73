#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Which hosts a lab has and how fast their links are. As YAML, rates in Mbit/s in each direction:
//   racks:
//     - {name: left, rate: 400, hosts: [a0, a1]}
//     - {name: right, rate: 400, hosts: [b0, b1]}
//   cables:
//     - {between: [left, right], rate: 50}
//   slow: {b1: 100}
// `racks` comes first. A rack is a switch; its rate is that of each of its hosts' links, unless the
// host is in `slow`. Cables join racks to one tree: there is one path between any two hosts.
namespace rm::lab {

struct MbitPerSec {
    double value = 0;
    auto operator<=>(const MbitPerSec&) const = default;
};

// Two cores that also train carry no more.
inline constexpr MbitPerSec kFastest{400};

struct Host {
    std::string name;
    std::size_t rack = 0;
    MbitPerSec rate;  // of its link to the rack's switch
};

struct Cable {
    std::size_t from = 0;  // racks
    std::size_t to = 0;
    MbitPerSec rate;
};

struct Topology {
    std::vector<std::string> racks;
    std::vector<Host> hosts;
    std::vector<Cable> cables;

    std::size_t rack_index(std::string_view name) const;  // RM_CHECK: it is there
    std::size_t host_index(std::string_view name) const;  // RM_CHECK: it is there
};

// INVALID_ARGUMENT names the file, the place and the expected content.
Result<Topology> parse_topology(std::string_view yaml, std::string_view file_name);

}  // namespace rm::lab
