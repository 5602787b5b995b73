#include "kernels/emu/emu_kernels.h"

#include <utility>

#include "kernels/cuda/device_kernels.h"
#include "kernels/emu/host_matmul.h"

namespace rm {

std::unique_ptr<Kernels> make_emu_kernels(const EmuOptions& options,
                                          std::unique_ptr<Device> device) {
    return make_device_kernels({.name = "emu",
                                .device = std::move(device),
                                .matmul = make_host_matmul(),
                                .profile = options.profile},
                               {.reproducible = options.reproducible,
                                .emulation = {.seed = options.seed},
                                .explain = options.explain});
}

}  // namespace rm
