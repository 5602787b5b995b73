#include "kernels/cuda/offload.h"

namespace rm {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
    return ceil_div(bytes, kAlignment) * kAlignment;
}

}  // namespace

Bytes offload_bytes(std::span<const TensorView> tensors) {
    Bytes total;
    for (const TensorView& tensor : tensors)
        total.value += aligned(tensor.num_bytes().value);
    return total;
}

std::vector<cuda::OffloadPlan> cuda::plan_offload(std::span<const TensorView> tensors) {
    std::vector<OffloadPlan> plans;
    for (const int width : {16, 2}) {
        std::int64_t offset = 0;
        OffloadPlan plan{.width = width};
        for (const TensorView& tensor : tensors) {
            const std::int64_t bytes = tensor.num_bytes().value;
            const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
            if (bytes > 0 && (address % 16 == 0 ? 16 : 2) == width)
                plan.pieces.push_back({static_cast<unsigned char*>(tensor.data()), offset, bytes});
            offset += aligned(bytes);
            if (plan.pieces.size() < kMaxOffloadPieces) continue;
            plans.push_back(plan);
            plan.pieces.clear();
        }
        if (!plan.pieces.empty()) plans.push_back(plan);
    }
    return plans;
}

}  // namespace rm
