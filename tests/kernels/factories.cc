#include "tests/kernels/factories.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/ref/ref_kernels.h"

namespace rm::test {
namespace {

template <int num_threads, CpuCode code>
std::unique_ptr<Kernels> make_cpu() {
    return make_cpu_kernels({.num_threads = num_threads, .code = code});
}

}  // namespace

std::vector<Factory> kernel_factories() {
    std::vector<Factory> factories = {
        {"ref", make_ref_kernels},
        {"cpu_1_thread", make_cpu<1, CpuCode::best>},
        {"cpu_2_threads", make_cpu<2, CpuCode::best>},
        {"cpu_own_base", make_cpu<2, CpuCode::own_base>},
    };
    if (can_run(CpuCode::own_avx2)) {
        factories.push_back({"cpu_own_avx2", make_cpu<2, CpuCode::own_avx2>});
    }
    if (can_run(CpuCode::own_avx512)) {
        factories.push_back({"cpu_own_avx512", make_cpu<2, CpuCode::own_avx512>});
    }
    if (can_run(CpuCode::own_avx512_bf16)) {
        factories.push_back({"cpu_own_avx512_bf16", make_cpu<2, CpuCode::own_avx512_bf16>});
    }
    return factories;
}

}  // namespace rm::test
