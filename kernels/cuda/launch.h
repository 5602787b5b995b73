#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/gpu_profile.h"
#include "kernels/cuda/launch_log.h"
#include "kernels/kernels.h"
#include "kernels/simt/emulator.h"

// describe -> choose -> launch -> compute: how a launcher starts a device kernel. The same .cu file
// is compiled by nvcc for `cuda` and as C++ for `emu`.
//
// A device kernel is a type:
//     struct RmsNormForward {
//         static constexpr const char* kName = "rmsnorm_fwd";
//         static constexpr int kThreads = 128;       // of a block, a multiple of 32
//         static constexpr int kMinBlocks = 2;       // resident per SM: bounds the registers
//         struct Shared { ... };                     // the block's shared memory; may be empty
//         struct Params { ... };                     // trivially copyable, at most 4,096 bytes
//         SIMT_FN static void run(const Params& p, Shared& shared);
//     };
namespace rm {

namespace cuda {
class MatMul;
}

// Where a kernel is launched. Borrows all.
struct Launch {
    Stream& stream;
    const GpuProfile& profile;
    simt::Emulation emulation{};     // `emu` only
    bool reproducible = true;        // sums in a fixed order
    LaunchLog* log = nullptr;        // null: no log
    std::string op;                  // with its sizes, where there is a log
    cuda::MatMul* matmul = nullptr;  // for the ops that take a workspace, which
    Workspace workspace{};           // is 64-byte aligned and as large as was asked for
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

}  // namespace rm

// launch<K>(where, grid, params): queues kernel K on the stream. A grid without blocks is no
// launch.
#if defined(__CUDACC__)
#include "kernels/cuda/launch_cuda.cuh"
#else
#include "kernels/emu/launch_emu.h"
#endif
