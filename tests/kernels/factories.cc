#include "tests/kernels/factories.h"

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/ref/ref_kernels.h"

namespace rm::test {
namespace {

template <int num_threads, CpuCode code, DType compute>
std::unique_ptr<Kernels> make_cpu() {
    return make_cpu_kernels({.num_threads = num_threads, .code = code, .compute = compute});
}

template <DType compute>
void add_cpu(std::vector<Factory>& factories) {
    const auto add = [&]<int num_threads, CpuCode code>(std::string_view name) {
        if (!can_run(code)) return;
        factories.push_back(
            {format("cpu_{}_{}", to_string(compute), name), make_cpu<num_threads, code, compute>});
    };
    add.template operator()<1, CpuCode::best>("1_thread");
    add.template operator()<2, CpuCode::best>("2_threads");
    add.template operator()<2, CpuCode::onednn>("onednn");
    add.template operator()<2, CpuCode::own_avx512_bf16>("own_avx512_bf16");
    add.template operator()<2, CpuCode::own_avx512>("own_avx512");
    add.template operator()<2, CpuCode::own_avx2>("own_avx2");
    add.template operator()<2, CpuCode::own_base>("own_base");
}

}  // namespace

std::vector<Factory> kernel_factories() {
    std::vector<Factory> factories = {{"ref", make_ref_kernels}};
    add_cpu<DType::f32>(factories);
    add_cpu<DType::bf16>(factories);
    for (const Factory& factory : emu_factories())
        factories.push_back(factory);
    return factories;
}

}  // namespace rm::test
