#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "spec/machine/probe.h"

namespace rm {

struct InsideFindings {
    std::vector<InsideSample> samples;
    std::vector<BridgeSample> bridges;
    bool operator==(const InsideFindings&) const = default;
};

// Measures the connections inside a node: every device with the host, both ways, every pair of
// devices, and the devices of each shared bridge together. One implementation per kind of device.
class InsideProbe {
public:
    virtual ~InsideProbe() = default;
    virtual Result<InsideFindings> measure() = 0;
};

// CPU slots: one thread copies the exchanged bytes in memory.
std::unique_ptr<InsideProbe> make_cpu_inside_probe(int num_devices);

}  // namespace rm
