#pragma once

#include <string>

#include "base/result.h"

namespace rm {

// TCP ports to listen on, both ends included; 0 to 0: the system chooses.
struct PortRange {
    int first = 0;
    int last = 0;
    bool is_any() const { return last == 0; }
    bool operator==(const PortRange&) const = default;
};
// Default ports on which ranks and probes listen; a firewall between machines must let them
// through.
constexpr PortRange kDataPorts{7080, 7199};

std::string to_string(PortRange ports);  // 7080-7199, 7085, 0

// "7080-7199", "7085", or "0": the system chooses.
Result<PortRange> parse_port_range(const std::string& text);

}  // namespace rm
