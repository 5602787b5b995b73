#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "kernels/device_library.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

constexpr int kMostSlots = 1024;

// Workers do not offer GPUs yet; on a machine without a usable GPU the error says why.
Error explain_cuda(std::string_view asked) {
    const Status usable = check_device(DeviceLibrary::cuda, 0);
    const std::string why = usable ? "workers do not offer GPUs yet (ring-train --device cuda uses "
                                     "this one)"
                                   : usable.error().message;
    return {ErrorCode::unavailable,
            format("'{}' cannot be offered: {}. --devices cpu:N offers CPU slots", asked, why)};
}

}  // namespace

Result<DeviceOffer> parse_device_offer(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const auto library = parse_word<DeviceLibrary>(kind);
    if (library && *library == DeviceLibrary::cuda) return explain_cuda(text);
    if (colon != std::string_view::npos && (kind == "cpu" || library)) {
        const auto count = parse_number<int>(text.substr(colon + 1));
        if (count && *count >= 1 && *count <= kMostSlots)
            return DeviceOffer{library ? std::optional(*library) : std::nullopt, *count};
    }
    return invalid_argument("'{}' is not cpu:N with N from 1 to {}", text, kMostSlots);
}

std::vector<DeviceInfo> slots_of(const DeviceOffer& offer, const MachineShare& share) {
    RM_CHECK(share.num_slots >= 1, "a machine of {} slots", share.num_slots);
    const int num_threads = std::max(1, share.num_cores / share.num_slots);
    const auto of_threads = [&](const Peak& peak) {
        return Peak{peak.flops * num_threads / share.num_cores, peak.name};
    };
    DeviceInfo slot{.kind = "cpu", .memory = {share.memory.value / share.num_slots}};
    if (offer.library) {
        slot.kind = to_string(*offer.library);
    } else {
        slot.fp32 = of_threads(share.fp32);
        slot.bf16 = of_threads(share.bf16);
        slot.num_threads = num_threads;
    }
    std::vector<DeviceInfo> devices(usize(offer.count), slot);
    for (int i = 0; i < offer.count; ++i)
        devices[usize(i)].index = i;
    return devices;
}

}  // namespace rm
