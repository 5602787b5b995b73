#pragma once

#include <memory>
#include <vector>

#include "spec/machine/probe.h"

namespace rm {

// Measures the connections inside a node: every device with the host, both ways, and every pair of
// devices. One implementation per kind of device.
class InsideProbe {
public:
    virtual ~InsideProbe() = default;
    virtual std::vector<InsideSample> measure() = 0;
};

// CPU slots: one thread copies the exchanged bytes in memory.
std::unique_ptr<InsideProbe> make_cpu_inside_probe(int num_devices);

}  // namespace rm
