#include "tests/kernels/factories.h"

#include <cstdlib>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/device_library.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/cuda/device_cases.h"

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
    add.template operator()<2, CpuCode::own_amx>("own_amx");
    add.template operator()<2, CpuCode::own_avx512_bf16>("own_avx512_bf16");
    add.template operator()<2, CpuCode::own_avx512>("own_avx512");
    add.template operator()<2, CpuCode::own_avx2>("own_avx2");
    add.template operator()<2, CpuCode::own_base>("own_base");
    // In f32 the tile model runs the base loops.
    if (compute == DType::bf16)
        add.template operator()<2, CpuCode::own_tile_model>("own_tile_model");
}

std::unique_ptr<Kernels> make_cuda() {
    return load_device_kernels(DeviceLibrary::cuda, {}).value();
}

// True if the name begins with the environment variable RM_KERNELS, or if that is not set.
bool is_wanted(const Factory& factory) {
    const char* wanted = std::getenv("RM_KERNELS");
    return wanted == nullptr || factory.name.starts_with(wanted);
}

}  // namespace

std::vector<Factory> kernel_factories() {
    std::vector<Factory> factories = {{"ref", make_ref_kernels}};
    add_cpu<DType::f32>(factories);
    add_cpu<DType::bf16>(factories);
    for (const Factory& factory : emu_factories())
        factories.push_back(factory);
    if (check_device(DeviceLibrary::cuda, 0))
        factories.push_back({"cuda", make_cuda, device_takes});
    std::erase_if(factories, [](const Factory& factory) { return !is_wanted(factory); });
    return factories;
}

}  // namespace rm::test
