// scripts/kernel_resources must flag this kernel: it has more live values than registers.
#include "kernels/cuda/launch.h"
#include "kernels/simt/simt.h"

namespace rm {

struct Spilling {
    static constexpr const char* kName = "spilling";
    static constexpr int kThreads = 1024;
    static constexpr int kMinBlocks = 1;
    struct Shared {};
    struct Params {
        const float* x;
        float* y;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        float values[128];
#pragma unroll
        for (int i = 0; i < 128; ++i)
            values[i] = p.x[i * kThreads + simt::thread()];
        simt::sync_block();
#pragma unroll
        for (int i = 0; i < 128; ++i)
            p.y[i * kThreads + simt::thread()] = values[i] * values[127 - i];
    }
};

void launch_spilling(const Launch& where, const Spilling::Params& params) {
    launch<Spilling>(where, {}, params);
}

}  // namespace rm
