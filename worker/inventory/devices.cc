#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "kernels/cuda/library/load.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

constexpr std::string_view kCpu = "cpu:";
constexpr int kMostSlots = 1024;

// Workers do not offer GPUs yet; on a machine without a usable GPU the error says why.
Error explain_cuda(std::string_view asked) {
    const Status usable = check_cuda_device(0);
    const std::string why = usable ? "workers do not offer GPUs yet (ring-train --device cuda uses "
                                     "this one)"
                                   : usable.error().message;
    return {ErrorCode::unavailable,
            format("'{}' cannot be offered: {}. --devices cpu:N offers CPU slots", asked, why)};
}

}  // namespace

Result<int> parse_cpu_devices(std::string_view text) {
    if (text.starts_with(kCpu)) {
        const auto count = parse_number<int>(text.substr(kCpu.size()));
        if (count && *count >= 1 && *count <= kMostSlots) return *count;
    }
    if (text == "cuda" || text.starts_with("cuda:")) return explain_cuda(text);
    return invalid_argument("'{}' is not cpu:N with N from 1 to {}", text, kMostSlots);
}

std::vector<DeviceInfo> cpu_devices(int num_devices, const MachineShare& share) {
    RM_CHECK(share.num_slots >= 1, "a machine of {} slots", share.num_slots);
    const int num_threads = std::max(1, share.num_cores / share.num_slots);
    const auto of_threads = [&](const Peak& peak) {
        return Peak{peak.flops * num_threads / share.num_cores, peak.name};
    };
    std::vector<DeviceInfo> devices;
    for (int i = 0; i < num_devices; ++i) {
        devices.push_back({.index = i,
                           .kind = "cpu",
                           .memory = {share.memory.value / share.num_slots},
                           .fp32 = of_threads(share.fp32),
                           .bf16 = of_threads(share.bf16),
                           .num_threads = num_threads});
    }
    return devices;
}

}  // namespace rm
