#include "kernels/emu/emu_kernels.h"
#include "tests/kernels/cuda/device_cases.h"
#include "tests/kernels/factories.h"

namespace rm::test {
namespace {

template <std::uint64_t seed>
std::unique_ptr<Kernels> make_emu() {
    return make_emu_kernels({.seed = seed});
}

}  // namespace

std::vector<Factory> emu_factories() {
    return {{"emu_lock_step", make_emu<0>, device_takes},
            {"emu_greedy_warps", make_emu<1>, device_takes}};
}

}  // namespace rm::test
