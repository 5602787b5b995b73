#include "kernels/cuda/offload.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/offload.cuh"

namespace rm::cuda {
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

}  // namespace rm::cuda
