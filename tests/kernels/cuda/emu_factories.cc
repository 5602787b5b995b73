#include "kernels/emu/emu_kernels.h"
#include "tests/kernels/cuda/device_cases.h"
#include "tests/kernels/factories.h"

namespace rm::test {
namespace {

std::unique_ptr<Kernels> make_emu() {
    return make_emu_kernels({.seed = 1});
}

}  // namespace

std::vector<Factory> emu_factories() {
    return {{"emu", make_emu, device_takes}};
}

}  // namespace rm::test
