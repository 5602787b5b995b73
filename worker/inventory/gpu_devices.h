#pragma once

#include <string>
#include <vector>

#include "service/gpu/gpus.h"
#include "worker/inventory/inventory.h"

namespace rm {

// Turns an offer into one whose devices are there: `cuda:all` into numbers, and no offer at all
// into all GPUs, or one CPU slot where none can be used; `why_not` then says why, if there are
// some. `gpus`: null where there is no driver, with the error. Errors name what is missing.
struct SettledOffer {
    DeviceOffer offer;
    std::string why_not;
};
Result<SettledOffer> settle_offer(const std::optional<DeviceOffer>& offer,
                                  const Result<std::unique_ptr<Gpus>>& gpus);

// The offered GPUs; their fitness at this moment is left out.
std::vector<DeviceInfo> gpu_devices(const std::vector<Gpu>& gpus, const std::vector<int>& offered);

// Against which the MFU of ranks on a GPU of this kind is stated: NVIDIA's figure for dense bf16
// products. Zero: not known.
Peak published_peak(const std::string& kind);

// The software of this machine, NCCL too.
GpuSoftware gpu_software(const Gpus* gpus);

}  // namespace rm
