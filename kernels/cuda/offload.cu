#include "kernels/cuda/offload.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/offload.cuh"

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

namespace cuda {
namespace {

using device::Offload;

static_assert(device::kMaxOffloadPieces == kMaxOffloadPieces);

device::OffloadParams params_of(const OffloadPlan& plan, unsigned char* buffer) {
    device::OffloadParams params{};
    params.buffer = buffer;
    for (const OffloadPiece& piece : plan.pieces) {
        params.pieces[params.num_pieces++] = {piece.tensor, piece.offset, piece.bytes,
                                              params.count};
        params.count += ceil_div(piece.bytes, plan.width);
    }
    return params;
}

template <typename Kernel>
void launch_copy(const device::OffloadParams& params, const Launch& where) {
    launch<Kernel>(
        where, pick_grid<Kernel>(params.count, Kernel::kThreads * Kernel::kAtOnce, where.profile),
        params);
}

template <Offload kDirection>
void move(std::span<const TensorView> tensors, void* buffer, const Launch& where) {
    RM_CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 16 == 0,
             "an offload buffer that is not 16-byte aligned");
    for (const OffloadPlan& plan : plan_offload(tensors)) {
        const auto params = params_of(plan, static_cast<unsigned char*>(buffer));
        if (plan.width == 16)
            launch_copy<device::OffloadCopy<kDirection, 16>>(params, where);
        else
            launch_copy<device::OffloadCopy<kDirection, 2>>(params, where);
    }
}

}  // namespace

void run(const OffloadPack& op, const Launch& where) {
    move<Offload::pack>(op.tensors, op.buffer, where);
}

void run(const OffloadUnpack& op, const Launch& where) {
    move<Offload::unpack>(op.tensors, const_cast<void*>(op.buffer), where);
}

}  // namespace cuda
}  // namespace rm
