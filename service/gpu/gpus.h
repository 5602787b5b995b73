#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "spec/machine/gpu.h"

namespace rm {

// A process with memory on a GPU.
struct GpuProcess {
    int pid = 0;
    std::string name;  // empty: not visible from here
    Bytes memory;      // 0: the driver does not say
    bool operator==(const GpuProcess&) const = default;
};

// A GPU at one moment. A value that its driver does not know is 0.
struct GpuState {
    bool lost = false;  // it answers no more
    bool reset_required = false;
    Bytes used;  // by all processes
    int temperature_celsius = 0;
    double watts = 0;
    double joules = 0;                   // since the driver was loaded
    std::vector<std::string> throttled;  // why its clocks are lowered: "power_cap", "hw_thermal"
    std::int64_t corrected_errors = 0;   // ECC, since the last reset
    std::int64_t uncorrected_errors = 0;
    bool remap_pending = false;  // a defective memory row is replaced at the next reset
    bool remap_failed = false;
    std::int64_t pcie_replays = 0;
    std::vector<GpuProcess> processes;
    bool operator==(const GpuState&) const = default;
};

// An error that a GPU's driver has reported.
struct GpuXid {
    int index = 0;  // of the GPU
    int xid = 0;
    bool operator==(const GpuXid&) const = default;
};

// One GPU of a machine. Their order is that of their PCI addresses, as `nvidia-smi` counts them.
struct Gpu {
    int index = 0;
    GpuFacts facts;
    Bytes memory;
};

// The GPUs of this machine, by NVML. One thread at a time.
class Gpus {
public:
    virtual ~Gpus() = default;
    virtual GpuSoftware software() const = 0;  // without NCCL
    virtual std::vector<Gpu> list() const = 0;
    virtual GpuState state(int index) const = 0;
    // Those that were reported since the last call.
    virtual std::vector<GpuXid> take_xids() = 0;
};

// `unavailable`: there is no driver, or it does not start. `sysfs`: where the kernel shows devices.
Result<std::unique_ptr<Gpus>> open_gpus(const std::string& sysfs = "/sys");

// "NVIDIA L40S" is "L40S", "NVIDIA A100-SXM4-80GB" is "A100-SXM4-80GB": a word for job files.
std::string gpu_kind(const std::string& product);

// The NUMA node of a PCI device; -1: unknown.
int numa_node_of(const std::string& sysfs, const std::string& pci);
// The PCI address of the highest bridge above a device: devices with the same one share its link to
// the host. Empty: unknown.
std::string host_bridge_of(const std::string& sysfs, const std::string& pci);

}  // namespace rm
