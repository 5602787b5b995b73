#pragma once

#include <set>
#include <string>

#include "service/gpu/gpus.h"

namespace rm {

constexpr int kXidOffTheBus = 79;

// Whether an Xid tells of the hardware, or the driver that must be restarted, rather than of a
// program's fault (NVIDIA, "XID Errors").
bool is_hardware_xid(int xid);
// "Xid 79: the GPU has fallen off the bus"
std::string xid_text(int xid);

// Why no job may use a GPU; empty: they may. `xids`: those of hardware since the driver was loaded.
// `held`: a rank of this worker uses it, so its processes are not looked at.
std::string unfit_reason(const GpuState& state, const std::set<int>& xids, bool held);

// "12.3 GiB by pid 4242 (python)", the largest first, all others counted.
std::string processes_text(std::vector<GpuProcess> processes);

}  // namespace rm
