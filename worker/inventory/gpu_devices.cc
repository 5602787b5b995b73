#include "worker/inventory/gpu_devices.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"
#include "engine/comm/nccl/api.h"
#include "kernels/device_library.h"
#include "kernels/meta/device_profile.h"

namespace rm {
namespace {

// GPUs whose published profile is known, which states the figures of one form of a product.
struct Published {
    std::string_view kind;
    std::string_view profile;
};
constexpr std::array kPublished = {
    Published{"L40S", "L40S"},           Published{"A100-SXM4-80GB", "A100"},
    Published{"A100-SXM4-40GB", "A100"}, Published{"H100-80GB-HBM3", "H100"},
    Published{"H200", "H200"},
};

Error cannot_offer(const std::string& what) {
    return {ErrorCode::unavailable,
            format("--devices: GPUs cannot be offered: {}. cpu:N offers CPU slots", what)};
}

std::vector<int> numbers_of(const std::vector<Gpu>& gpus) {
    std::vector<int> numbers;
    for (const Gpu& gpu : gpus)
        numbers.push_back(gpu.index);
    return numbers;
}

// All GPUs, or those that are asked for.
Result<std::vector<int>> chosen(const std::vector<int>& asked, const std::vector<Gpu>& gpus) {
    const std::vector<int> all = numbers_of(gpus);
    if (all.empty()) return cannot_offer("the driver shows none");
    for (const int number : asked) {
        if (std::find(all.begin(), all.end(), number) != all.end()) continue;
        return cannot_offer(format("there is no GPU {}; this machine has {}, from 0", number,
                                   counted(std::ssize(all), "GPU")));
    }
    return asked.empty() ? all : asked;
}

Result<DeviceOffer> settle_gpus(const std::vector<int>& asked,
                                const Result<std::unique_ptr<Gpus>>& gpus) {
    if (!gpus) return cannot_offer(gpus.error().message);
    RM_TRY(const std::vector<int> numbers, chosen(asked, (*gpus)->list()));
    const Status usable = check_device(DeviceLibrary::cuda, numbers.front());
    if (!usable) return cannot_offer(usable.error().message);
    return DeviceOffer{DeviceLibrary::cuda, static_cast<int>(numbers.size()), numbers};
}

}  // namespace

Result<SettledOffer> settle_offer(const std::optional<DeviceOffer>& offer,
                                  const Result<std::unique_ptr<Gpus>>& gpus) {
    if (offer && offer->library != DeviceLibrary::cuda) return SettledOffer{*offer, ""};
    Result<DeviceOffer> settled = settle_gpus(offer ? offer->gpus : std::vector<int>(), gpus);
    if (settled) return SettledOffer{*settled, ""};
    if (offer) return settled.error();
    const bool has_some = gpus && !(*gpus)->list().empty();
    return SettledOffer{DeviceOffer{}, has_some ? settled.error().message : ""};
}

Peak published_peak(const std::string& kind) {
    const auto known = std::find_if(kPublished.begin(), kPublished.end(),
                                    [&](const Published& row) { return row.kind == kind; });
    if (known == kPublished.end()) return {};
    for (const DeviceProfile& profile : published_profiles()) {
        if (profile.name != known->profile) continue;
        return {profile.peak_flops, format("bf16 {:.0f} TFLOP/s {} data sheet",
                                           profile.peak_flops * 1e-12, profile.name)};
    }
    return {};
}

std::vector<DeviceInfo> gpu_devices(const std::vector<Gpu>& gpus, const std::vector<int>& offered) {
    std::vector<DeviceInfo> devices;
    for (const Gpu& gpu : gpus) {
        if (std::find(offered.begin(), offered.end(), gpu.index) == offered.end()) continue;
        const std::string kind = gpu_kind(gpu.facts.product);
        devices.push_back({.index = gpu.index,
                           .kind = kind.empty() ? "unknown-GPU" : kind,
                           .memory = gpu.memory,
                           .bf16 = published_peak(kind),
                           .gpu = gpu.facts});
    }
    return devices;
}

GpuSoftware gpu_software(const Gpus* gpus) {
    GpuSoftware software = gpus == nullptr ? GpuSoftware{} : gpus->software();
    if (const auto nccl = nccl::open()) software.nccl = nccl::version_text((*nccl)->version);
    return software;
}

}  // namespace rm
