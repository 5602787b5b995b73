#pragma once

#include <string>
#include <vector>

namespace rm {

// The facts about a GPU that stay the same while its machine runs. Empty for other devices.
struct GpuFacts {
    std::string uuid;     // "GPU-8f0e...": stays when the order of a machine's GPUs changes
    std::string product;  // "NVIDIA L40S"
    std::string pci;      // "0000:41:00.0"
    std::string bridge;   // the highest PCI bridge above it; GPUs of one share its link to the host
    int numa_node = -1;   // -1: unknown
    std::string compute;  // capability, "8.9"
    int power_limit_watts = 0;
    bool operator==(const GpuFacts&) const = default;
};

// Versions of the software that GPUs need; empty: it is not there.
struct GpuSoftware {
    std::string driver;  // "570.86.10"
    std::string cuda;    // the newest that the driver supports, "12.8"
    std::string nccl;    // "2.28.3"
    bool operator==(const GpuSoftware&) const = default;
};

// A GPU while a rank uses it. Zero where its driver does not say, and on other devices.
struct GpuUse {
    int temperature_celsius = 0;
    double watts = 0;
    double joules = 0;      // since the rank began
    std::string throttled;  // why its clocks are lowered: "power_cap, hw_thermal"
    bool operator==(const GpuUse&) const = default;
};

// A kind of GPU as a worker has measured it.
struct MeasuredProfile {
    std::string kind;
    std::string driver;     // empty: of no driver
    std::string build;      // of the kernels that were measured
    double bf16_flops = 0;  // the fastest product, FLOP/s
    std::string text;       // docs/formats/device_profile.md
    bool operator==(const MeasuredProfile&) const = default;
};

// Whether jobs may use a device.
struct DeviceFitness {
    int index = 0;
    std::string unfit;  // why not; empty: they may
    bool lost = false;  // it answers no more, nor does what runs there
    bool operator==(const DeviceFitness&) const = default;
};
// The fitness of all devices of a node, when it has changed.
struct DevicesReport {
    std::vector<DeviceFitness> devices;
    bool operator==(const DevicesReport&) const = default;
};

}  // namespace rm
