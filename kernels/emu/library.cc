#include "kernels/closed_device.h"
#include "kernels/device_copy.h"
#include "kernels/device_library.h"
#include "kernels/emu/emu_kernels.h"

// The door of librm_emu.so.
#define RM_EXPORT extern "C" __attribute__((visibility("default")))

RM_EXPORT const char* rm_device_build() {
    return rm::device_library_build();
}

RM_EXPORT void rm_device_check(int /*device*/, rm::Status& status) {
    status = {};
}

RM_EXPORT void rm_device_copy(rm::Device& sender, const rm::TensorView& from, rm::Device& receiver,
                              const rm::TensorView& to, rm::Stream& stream) {
    rm::copy_between_closed(sender, from, receiver, to, stream);
}

RM_EXPORT void rm_device_make_kernels(const rm::DeviceOptions& options,
                                      rm::Result<std::unique_ptr<rm::Kernels>>& kernels) {
    kernels = rm::make_emu_kernels({.reproducible = options.reproducible},
                                   rm::make_closed_device(options.memory));
}
