#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "kernels/device_library.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

constexpr int kMostSlots = 1024;
constexpr std::string_view kAll = "all";

// "0,2": numbers from 0, each once.
Result<std::vector<int>> parse_numbers(std::string_view text) {
    std::vector<int> numbers;
    for (const std::string_view part : split(text, ',')) {
        const auto number = parse_number<int>(part);
        if (!number || *number < 0) return invalid_argument("'{}' is not a device's number", part);
        if (std::find(numbers.begin(), numbers.end(), *number) != numbers.end())
            return invalid_argument("device {} is there twice", *number);
        numbers.push_back(*number);
    }
    return numbers;
}

}  // namespace

Result<DeviceOffer> parse_device_offer(std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view kind = text.substr(0, colon);
    const std::string_view value = text.substr(std::min(colon + 1, text.size()));
    const auto library = parse_word<DeviceLibrary>(kind);
    if (library && *library == DeviceLibrary::cuda) {
        if (value == kAll) return DeviceOffer{.library = *library, .count = 0, .gpus = {}};
        const auto gpus = parse_numbers(value);
        if (gpus) return DeviceOffer{*library, static_cast<int>(gpus->size()), *gpus};
        return invalid_argument("'{}': {}; cuda:all, or numbers such as cuda:0,2", text,
                                gpus.error().message);
    }
    if (kind == "cpu" || library) {
        const auto count = parse_number<int>(value);
        if (count && *count >= 1 && *count <= kMostSlots)
            return DeviceOffer{.library = library ? std::optional(*library) : std::nullopt,
                               .count = *count};
    }
    return invalid_argument("'{}' is not cuda:all, cuda:0,2 or cpu:N with N from 1 to {}", text,
                            kMostSlots);
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
